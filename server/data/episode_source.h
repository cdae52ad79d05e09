// EpisodeSource: recorded episodes in arrays of one folder, one row a step, under the names that
// Minari and D4RL have:
//
//   observations.npy       float32 or float64 [n, ...], or uint8 [n, ...]: seen at the step
//   actions.npy            float32 or float64 [n] or [n, numbers], as the game got them; whole
//                          numbers [n] or [n, variables]: choices
//   rewards.npy            float32 or float64 [n]
//   terminations.npy       bool or whole numbers [n]: not 0 where the episode ended
//   truncations.npy        the same where it was cut; the file may be missing: it never was
//   next_observations.npy  as observations: seen after the step; the file may be missing
//
// Episodes follow each other without a gap. Without next_observations the last row of an episode
// that was cut, or that the arrays end in, is no step: it is what was seen after the one before.
//
// An item is up to kSteps consecutive steps of one episode. What an agent may not do is not known:
// everything was allowed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/data/data_source.h"
#include "server/data/sample_array.h"
#include "shared/inference/action_head.h"

namespace murmurate {

class EpisodeSource : public DataSource {
 public:
  static constexpr int kSteps = 16;

  /// `game`: null: numbers have the box that all recorded ones lie in, choices as many as there are.
  /// One sentence for whatever does not fit: files, shapes, types, numbers that are not finite or
  /// that the game does not have.
  static Result<std::unique_ptr<EpisodeSource>> Open(const std::string& folder,
                                                     const Spaces* game = nullptr);

  const Spaces& spaces() const override { return spaces_; }
  std::uint64_t items() const override { return items_.size(); }
  std::uint64_t steps() const override { return steps_; }
  int length() const override { return kSteps; }
  Status PrepareFor(const ModelSpec& model, int length) override;
  std::uint64_t ItemsOf(const TrainingBatch& batch) const override;
  Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const override;
  std::vector<DataFile> files() const override;
  std::string Description() const override;
  std::string Returns() const override;
  std::vector<std::string> Notes() const override;

 private:
  struct Item {
    std::uint64_t first = 0;  ///< row
    int steps = 0;
    std::uint64_t episode = 0;  ///< its first row
    bool cut = false;           ///< its last step was truncated
    bool terminated = false;
  };
  struct Columns;
  explicit EpisodeSource(std::string folder) : folder_(std::move(folder)) {}
  Status OpenArrays();
  Status CheckShapes() const;
  Status FindSpaces(const Spaces* game);
  Result<Space> ActionSpace() const;
  Status CheckActions() const;
  Status CutEpisodes();
  Status AddEpisode(std::uint64_t first, std::uint64_t end, bool terminated);
  Result<bool> Flag(const SampleArray* array, std::uint64_t row) const;
  Status CopyObservation(const SampleArray& array, std::uint64_t row, std::byte* to) const;
  Status CopyAction(std::uint64_t row, std::int32_t* words) const;
  Status CopySeenAfter(std::uint64_t row, std::byte* to) const;
  Status CopySteps(const Item& item, const TrajectoryLayout& layout, Columns* columns) const;
  Status FillOne(const Item& item, TrainingBatch* batch) const;

  const std::string folder_;
  std::unique_ptr<SampleArray> observations_, actions_, rewards_, terminations_;
  std::unique_ptr<SampleArray> truncations_, next_observations_;  ///< null: no file
  Spaces spaces_;
  std::vector<Item> items_;
  std::uint64_t steps_ = 0, episodes_ = 0;
  double returns_ = 0.0;  ///< of the episodes that ended, summed
  std::unique_ptr<const ActionHead> head_;
};

}  // namespace murmurate
