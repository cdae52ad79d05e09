// SampleBatch: the batch of samples that a replay gives: minibatches drawn from the steps that it
// keeps and, where there are demonstrations, from those, and the way back of each sample's error.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/replay/demonstrations.h"
#include "server/replay/kept_steps.h"
#include "server/replay/replay_settings.h"
#include "server/replay/sample_form.h"
#include "server/replay/window_copy.h"

namespace murmurate {

class SampleBatch {
 public:
  /// `kept` must outlive it. Where that names places, the batch does, too, and has no
  /// demonstrations.
  SampleBatch(const ReplaySettings& settings, const TrajectoryLayout& layout, KeptSteps* kept,
              BatchMemory& memory);

  static std::size_t BytesFor(const ReplaySettings& settings, const TrajectoryLayout& layout,
                              bool places);

  /// The last samples of each minibatch are of these from now on, as many as they say.
  void SetDemonstrations(std::unique_ptr<Demonstrations> demonstrations) {
    demonstrations_ = std::move(demonstrations);
  }

  /// Draws so many minibatches, at most most_updates; the largest weight of each is 1. A kept row
  /// is closed. Valid until the next Draw.
  TrainingBatch* Draw(int updates);
  /// One |TD| for each sample of the last Draw.
  void SetErrors(std::span<const float> errors);

 private:
  void DrawMinibatch(std::span<std::uint64_t> rows);
  /// Of each minibatch.
  std::size_t demonstrated() const { return demonstrations_ ? demonstrations_->samples() : 0; }

  const std::size_t minibatch_;
  KeptSteps* const kept_;
  const SampleForm form_;
  WindowCopy copy_;
  std::unique_ptr<Demonstrations> demonstrations_;  ///< null: there are none
  TrainingBatch samples_;
  std::vector<std::uint64_t> rows_;  ///< of the slots of samples_
  std::vector<float> weights_;       ///< of a minibatch
};

}  // namespace murmurate
