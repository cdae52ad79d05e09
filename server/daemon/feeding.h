// Feeding and Recording: a model's files and the threads that read or write them, put together for
// the daemon. Neither ever holds up another thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "server/daemon/experience_source.h"
#include "server/data/data_feed.h"
#include "server/data/recorder.h"
#include "server/data/training_data.h"
#include "shared/core/loop.h"

namespace murmurate {

/// mmr-data, .2, ...: the batches of a channel filled from files instead of actors.
class Feeding : public ExperienceSource {
 public:
  /// `source` is prepared for the channel's model. `on_end` as DataFeed calls it.
  Feeding(std::shared_ptr<ExperienceChannel> channel, std::shared_ptr<DataSource> source,
          const DataSettings& settings, const RunSettings& run, std::function<void(Status)> on_end);

  /// Loads as DataFeed does.
  Status Load(const SavedState& state) { return feed_.Load(StateReader(state, "data")); }

  void Start(int number) override;
  void Stop() override { loops_.clear(); }
  void OnTrained() override { feed_.OnTrained(); }
  void Save(std::uint64_t /*batches*/, SavedState* state) const override {
    feed_.Save(StateWriter(state, "data"));
  }

 private:
  DataFeed feed_;
  const int threads_;
  std::vector<std::unique_ptr<Loop>> loops_;
};

/// mmr-record (.N): what ingest accepts, on its way to disk.
class Recording {
 public:
  static Result<std::unique_ptr<Recording>> Start(const RecordingSettings& settings,
                                                  const std::string& model, int number,
                                                  const ExperienceChannel& channel,
                                                  LogCallback log);
  std::function<void(const TrajectoryView&)> taker() {
    return [this](const TrajectoryView& view) { recorder_->Append(view); };
  }
  /// Writes what is left after the last Append, joins the thread and says what came of it.
  std::string Finish();

 private:
  explicit Recording(std::unique_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace murmurate
