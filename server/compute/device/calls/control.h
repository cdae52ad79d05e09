// TrainingControl: 1 block of numbers on the device that every kernel of a training step reads, so
// that a recorded step is the same for every update of every batch.
#pragma once

#include <cstdint>

namespace murmurate {

struct TrainingControl {
  static constexpr int kSums = 32;

  // The host writes these before a batch.
  float learning_rate, clip, entropy, dual_clip, value_weight;
  float most_kl;               ///< 0: none
  std::uint32_t scores;        ///< 1: nothing is learned from this batch
  std::uint32_t first_update;  ///< passes before it prepare the batch
  std::uint32_t updates_a_pass;
  std::uint32_t scored_too;  ///< updates of the first pass over the batch are scored as well: 1

  // The device writes these; a batch begins with zeros, but for optimizer_steps.
  std::uint32_t pass;     ///< the present one, from 0; its last kernel (head or loss) ends it
  std::uint32_t stopped;  ///< 1: the batch was left; what follows changes nothing
  std::uint32_t finite;   ///< the gradient of this update is
  std::uint32_t adds;     ///< of a rank: its gradient is part of this update's mean: 1
  double norm;            ///< of this update's gradient, before it is clipped
  double part_norms[2];   ///< of the policy's parameters, of the value's own
  std::uint64_t begun, updates, skipped;
  std::uint64_t optimizer_steps;
  std::uint64_t present_step;  ///< of the optimizer, from 1; GradientNorm says it to StepParameters
  double norms;                ///< of the gradients that stepped, summed
  double change, kl;           ///< of the policy since the batch began: the sum over rows, the mean
  double sums[kSums];          ///< AlgorithmSums
};

}  // namespace murmurate
