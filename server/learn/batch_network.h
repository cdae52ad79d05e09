// BatchNetwork: a model's network over rows of a batch: all of them before the first update, then
// those of each update, forward and backward. Recurrent models see whole trajectories side by side
// (lanes.h); of each, the first burn_in steps only bring its stored state up to date.
//
// With a plan of one pass the rows of the update are those that were seen last: nothing goes
// forward twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/learn/algorithm_settings.h"
#include "server/learn/batch_plan.h"
#include "server/learn/lanes.h"
#include "server/learn/minibatch.h"
#include "server/network/actor_critic.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class BatchNetwork {
 public:
  /// Nothing is allocated later.
  BatchNetwork(const ModelSpec& spec, const AlgorithmSettings& settings);

  /// Batch and plan must stay unchanged until the last update of it.
  void Begin(const TrainingBatch& batch, const BatchPlan& plan);

  /// Forward over all rows of the plan and what followed truncations and trajectories, as many at
  /// once as a minibatch has; calls visit() after each such part, the rows of the plan last.
  template <typename Visit>
  void ForwardAll(std::span<const float> parameters, Visit visit);
  /// Leaves the rows of an update gathered, and seen by the network.
  void Forward(const PlannedUpdate& update, std::span<const float> parameters);
  /// The gradient of the last Forward, from d_outputs, d_values and d_deviations.
  void Backward(std::span<const float> parameters, std::span<float> gradient);

  // The rows seen last, and the network's outputs for them.
  std::span<const SeenRow> seen() const { return seen_; }
  const Minibatch& minibatch() const { return minibatch_; }
  int rows() const { return minibatch_.rows(); }
  std::span<const float> values() const { return {values_.data(), seen_.size()}; }
  ActionRows Actions(std::span<const float> parameters) const;

  float* d_outputs() { return d_outputs_.data(); }
  float* d_values() { return d_values_.data(); }
  float* d_deviations() { return d_deviations_.data(); }

  int max_rows() const { return max_rows_; }
  const ParameterLayout& layout() const { return network_.layout(); }

 private:
  bool recurrent() const { return lane_count_ > 0; }
  void ForwardSeen(std::span<const float> parameters, const Sequences* sequences,
                   bool values_alone = false);
  void ForwardLanes(std::span<const int> slots, std::span<const float> weights,
                    std::span<const float> parameters);

  const int lane_count_, burn_in_, batch_steps_, most_rows_, max_rows_;
  ActorCritic network_;
  const ActionLayout action_layout_;
  const bool shared_value_;      ///< the value reads the policy's features
  const std::size_t deviation_;  ///< where the free log deviations lie in parameters and gradient
  Lanes lanes_;
  Minibatch minibatch_;
  AlignedFloats outputs_, values_, d_outputs_, d_values_, d_deviations_;
  std::vector<SeenRow> all_, seen_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
};

template <typename Visit>
void BatchNetwork::ForwardAll(std::span<const float> parameters, Visit visit) {
  const auto in_parts = [](auto all, int most, auto each) {
    for (std::size_t begin = 0; begin < all.size(); begin += static_cast<std::size_t>(most))
      each(all.subspan(begin, std::min(static_cast<std::size_t>(most), all.size() - begin)));
  };
  if (recurrent()) {
    in_parts(std::span<const int>(plan_->slots), lane_count_, [&](std::span<const int> slots) {
      lanes_.Lay(*batch_, slots, {}, 0, batch_->length, true, &seen_);
      ForwardSeen(parameters, &lanes_.sequences());
      visit();
    });
    return;
  }
  const auto forward = [&](std::span<const SeenRow> part) {
    seen_.assign(part.begin(), part.end());
    ForwardSeen(parameters, nullptr);
    visit();
  };
  all_.clear();
  for (const int slot : plan_->slots)
    ForSuccessors(*batch_, slot, [this](const SeenRow& row) { all_.push_back(row); });
  in_parts(std::span<const SeenRow>(all_), most_rows_, forward);
  all_.clear();
  for (const std::int32_t row : plan_->rows) all_.push_back({.row = row});
  in_parts(std::span<const SeenRow>(all_), most_rows_, forward);
}

}  // namespace murmurate
