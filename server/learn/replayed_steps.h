// ReplayedSteps: the steps of one update from a replay put together for networks that read them one
// by one: those that are learned from, and where their returns end (window_return.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/learn/algorithm_settings.h"
#include "server/learn/minibatch.h"
#include "server/learn/window_return.h"

namespace murmurate {

class ReplayedSteps {
 public:
  /// For `replay.minibatch` steps. Nothing is allocated later.
  ReplayedSteps(const ModelSpec& spec, const AlgorithmSettings& settings);

  int most() const { return most_; }
  /// `rows` of a batch, at least 1; `batch` must stay while masks are read.
  void Gather(const TrainingBatch& batch, std::span<const std::int32_t> rows);

  std::size_t count() const { return ends_.size(); }
  const Minibatch& here() const { return here_; }
  const Minibatch& there() const { return there_; }
  /// What a step's return has without a value, and what the value there counts: 0 after an end,
  /// where the row there is padding.
  float reward(std::size_t i) const { return reward_[i]; }
  float discount(std::size_t i) const { return discount_[i]; }
  /// The masks of a step, and of where its return ends; null: all is allowed, or not known.
  const std::uint8_t* MaskHere(std::size_t i) const { return MaskOf(seen_[i]); }
  const std::uint8_t* MaskThere(std::size_t i) const { return MaskOf(ends_[i]); }

 private:
  const std::uint8_t* MaskOf(const SeenRow& row) const;

  const int most_, n_step_;
  const double gamma_;
  const std::size_t mask_bytes_;
  Minibatch here_, there_;
  std::vector<SeenRow> seen_, ends_;
  std::vector<float> reward_, discount_;
  const TrainingBatch* batch_ = nullptr;
};

}  // namespace murmurate
