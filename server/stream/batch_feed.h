// BatchFeed: hands a stream's pairs to the learning thread, batch by batch: when the oldest has
// waited for max_delay_ms, mixed with pairs of before where the stream replays. At most two batches
// are on their way at once: one in training, and one of what came meanwhile.
//
// The stream's thread calls it, or another under the stream's mutex.
#pragma once

#include <cstdint>
#include <memory>

#include "server/experience/experience_channel.h"
#include "server/stream/config_stream.h"
#include "server/stream/forecaster.h"
#include "server/stream/replay_window.h"

namespace murmurate {

class BatchFeed {
 public:
  /// `settings` outlives it.
  BatchFeed(const StreamSettings& settings, std::shared_ptr<ExperienceChannel> channel);

  /// Takes the memory for what is replayed, if the stream replays.
  void OpenReplay();
  /// Hands over a batch if one is due.
  void Feed(Forecaster* forecaster, std::int64_t now_ns);
  /// The oldest batch has been learned.
  void OnTrained(Forecaster* forecaster);
  /// How long to wait for messages at most: then a batch is due.
  int wait_ms() const { return wait_ms_; }
  std::uint64_t replayed() const { return replay_ ? replay_->drawn() : 0; }

  void Save(const StateWriter& writer) const;
  Status Load(const Forecaster& forecaster, const StateReader& reader);

 private:
  const StreamSettings& settings_;
  const std::shared_ptr<ExperienceChannel> channel_;
  std::unique_ptr<ReplayWindow> replay_;  ///< null: off
  int given_ = 0;                         ///< batches handed over and not trained on
  int wait_ms_ = 0;
  std::int64_t waiting_since_ns_ = 0;  ///< pairs are; 0: none
};

}  // namespace murmurate
