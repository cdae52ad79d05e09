// WindowReturn: the n-step return of one step of a trajectory: its discounted rewards, and what a
// value has to be added for.
//
//   y = r_t + gamma r_{t+1} + ... + gamma^{k-1} r_{t+k-1} + gamma^k V(s_{t+k}),  k <= n
//
// k is less than n where the episode or the trajectory ends before. A terminated episode has no
// value behind it; a truncated one has that of its final observation (Sutton and Barto 2018,
// chapter 7; on truncation Pardo et al. 2018, arXiv 1712.00378).
#pragma once

#include "server/experience/training_batch.h"
#include "server/learn/lanes.h"

namespace murmurate {

struct WindowReturn {
  double reward = 0;   ///< discounted, of k steps
  float discount = 0;  ///< gamma^k; 0: nothing comes after it, and `end` is padding
  /// s_{t+k}: a row of the batch, or what followed one. Only a row of the batch has a mask.
  SeenRow end = {};
};

/// Of the step in row `row` of the batch, which must be a step of a trajectory. n >= 1.
WindowReturn ReturnOf(const TrainingBatch& batch, std::int32_t row, int n, double gamma);

}  // namespace murmurate
