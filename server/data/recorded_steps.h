// RecordedSteps: a folder of recorded trajectories (recording_source.h) or of episodes in arrays
// (episode_source.h) as play of a model (RecordedPlay), for a replay to begin with.
//
// Trajectories of more than the model's T steps come in pieces of T. Of a model that stacks frames
// or remembers, what lies before a piece is not known, so it needs a T that is not shorter than
// theirs. Agents are numbered from 2^31 on, where none that plays is.
#pragma once

#include <memory>
#include <string>

#include "server/data/data_source.h"
#include "server/experience/recorded_play.h"

namespace murmurate {

class RecordedSteps : public RecordedPlay {
 public:
  /// `length`: T. One sentence for a folder that holds none, damaged files, or those of another
  /// game (RecordingSource, EpisodeSource).
  static Result<std::unique_ptr<RecordedSteps>> Open(const std::string& folder,
                                                     const ModelSpec& model, int length);

  std::uint64_t steps() const override { return source_->steps(); }
  Status Visit(const std::function<void(const TrajectoryView&)>& visit) const override;
  /// "50,000 recorded steps of recordings, whose 250 recorded episodes ..."
  std::string Description() const;

 private:
  RecordedSteps(std::unique_ptr<DataSource> source, const TrajectoryLayout& layout,
                const TrajectoryLayout& recorded);

  const std::unique_ptr<DataSource> source_;
  const TrajectoryLayout layout_, recorded_;  ///< of T, and of the source's length
};

}  // namespace murmurate
