// CheckpointTurn: whether a checkpoint of a model is due: by steps or time, or since one was asked
// for. One thread at a time, but for what says so.
#pragma once

#include <atomic>
#include <cstdint>

#include "server/operate/checkpoint_writer.h"
#include "server/operate/operate_settings.h"

namespace murmurate {

class CheckpointTurn {
 public:
  /// `steps`: of the checkpoint that the model goes on from.
  CheckpointTurn(const CheckpointSettings& settings, std::uint64_t steps, std::int64_t now_ns)
      : times_(settings.every_steps, settings.every_s, now_ns) {
    times_.StartAt(steps);
  }

  void Ask() { due_ = true; }  ///< any thread
  /// Asks when the steps or the time have come.
  void Look(std::uint64_t steps, std::int64_t now_ns) {
    if (times_.Due(steps, now_ns)) Ask();
  }
  bool due() const { return due_; }
  bool Take() { return due_.exchange(false); }  ///< true once each time that it is due

 private:
  CheckpointTimes times_;
  std::atomic<bool> due_{false};
};

}  // namespace murmurate
