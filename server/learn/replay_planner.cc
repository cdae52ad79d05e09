#include "server/learn/replay_planner.h"

#include <algorithm>
#include <array>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {

ReplayPlanner::ReplayPlanner(const AlgorithmSettings& settings, std::uint64_t seed)
    : minibatch_(static_cast<std::size_t>(settings.replay.minibatch)),
      target_every_(static_cast<std::uint64_t>(settings.target_every)),
      policy_every_(static_cast<std::uint64_t>(settings.policy.every)),
      seed_(seed) {
  plan_.target_part = static_cast<float>(settings.target_part);
}

const BatchPlan& ReplayPlanner::Plan(const TrainingBatch& batch, const Rates& rates,
                                     std::uint64_t learned_steps, double rate_factor) {
  plan_.learning_rate = rate_factor * rates.learning_rate.At(learned_steps);
  plan_.seed = DeriveSeed(seed_, updates_);
  plan_.slots.clear();
  plan_.rows.clear();
  plan_.order.clear();
  plan_.updates.clear();
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    plan_.slots.push_back(static_cast<int>(slot));
    const std::int32_t first = static_cast<std::int32_t>(slot) * batch.length;
    for (std::int32_t row = first; row < first + batch.trajectories[slot].steps; ++row)
      if (batch.weight[row] > 0.0f) plan_.rows.push_back(row);
  }
  if (batch.samples == TrainingBatch::Samples::kReplayed) PlanUpdates(batch);
  return plan_;
}

void ReplayPlanner::PlanUpdates(const TrainingBatch& batch) {
  plan_.order = plan_.rows;
  const auto first_of = [&](std::size_t slot) {
    const auto row = static_cast<std::int32_t>(slot) * batch.length;
    return static_cast<std::size_t>(std::ranges::lower_bound(plan_.order, row) -
                                    plan_.order.begin());
  };
  const std::size_t windows = batch.trajectories.size();
  for (std::size_t slot = 0; slot < windows; slot += minibatch_) {
    const std::size_t begin = first_of(slot), end = slot + minibatch_ < windows
                                                        ? first_of(slot + minibatch_)
                                                        : plan_.order.size();
    const std::uint64_t number = updates_ + plan_.updates.size() + 1;
    constexpr std::uint32_t kAll = PlannedUpdate::kAllNetworks, kPolicy = 1;
    plan_.updates.push_back({.first = begin,
                             .count = end - begin,
                             .networks = number % policy_every_ == 0 ? kAll : kAll & ~kPolicy,
                             .moves_targets = number % target_every_ == 0});
  }
  plan_.updates_a_pass = plan_.updates.size();
}

void ReplayPlanner::Save(const StateWriter& writer) const {
  writer.Words("updates", std::array{updates_, seed_});
}

Status ReplayPlanner::Load(const StateReader& reader) {
  std::array<std::uint64_t, 2> saved;
  MURMURATE_RETURN_IF_ERROR(reader.Words("updates", saved));
  updates_ = saved[0];
  seed_ = saved[1];
  return {};
}

}  // namespace murmurate
