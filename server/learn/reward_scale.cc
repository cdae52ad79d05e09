#include "server/learn/reward_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "server/learn/order_slots.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kEpsilon = 1e-8;

}  // namespace

RewardScale::RewardScale(const AlgorithmSettings& settings)
    : scale_(settings.reward_scale),
      clip_(settings.reward_clip),
      gamma_(settings.gamma),
      normalize_(settings.normalize_reward) {
  slots_.reserve(static_cast<std::size_t>(settings.batch_steps / settings.trajectory_length));
  if (normalize_) returns_.reserve(static_cast<std::size_t>(settings.batch_steps));
}

void RewardScale::Apply(TrainingBatch& batch) {
  if (!normalize_ && scale_ == 1.0 && clip_ == 0.0) return;
  const std::lock_guard lock(mutex_);
  OrderSlots(batch, &slots_);
  if (normalize_) MergeReturns(batch);
  Scale(batch);
}

void RewardScale::ScaleReplayed(TrainingBatch& batch) const {
  const std::lock_guard lock(mutex_);
  Scale(batch);
}

void RewardScale::Scale(TrainingBatch& batch) const {
  const double factor = normalize_ ? scale_ / std::sqrt(statistics_.variance() + kEpsilon) : scale_;
  const double limit = clip_ > 0.0 ? clip_ : std::numeric_limits<float>::max();
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    float* const reward = batch.reward.data() + slot * static_cast<std::size_t>(batch.length);
    for (int step = 0; step < batch.trajectories[slot].steps; ++step) {
      reward[step] = static_cast<float>(std::clamp(reward[step] * factor, -limit, limit));
    }
  }
}

void RewardScale::MergeReturns(const TrainingBatch& batch) {
  returns_.clear();
  for (const int slot : slots_) AddReturns(batch, slot);
  if (returns_.empty()) return;
  Moments batch_moments{.count = static_cast<double>(returns_.size())};
  double& mean = batch_moments.mean;
  for (const double x : returns_) mean += x;
  mean /= batch_moments.count;
  for (const double x : returns_) batch_moments.m2 += (x - mean) * (x - mean);
  statistics_.Add(batch_moments);
  own_.Add(batch_moments);
}

Moments RewardScale::own() const {
  const std::lock_guard lock(mutex_);
  return own_;
}

void RewardScale::Adopt(const Moments& all) {
  const std::lock_guard lock(mutex_);
  if (all.count > 0.0)
    statistics_ = all;
  else
    own_ = statistics_;
}

void RewardScale::AddReturns(const TrainingBatch& batch, int slot) {
  const BatchTrajectory& trajectory = batch.trajectories[slot];
  double& running = running_.try_emplace(trajectory.agent, statistics_.mean).first->second;
  const std::size_t first = static_cast<std::size_t>(slot) * batch.length;
  for (std::size_t row = first; row < first + trajectory.steps; ++row) {
    if ((batch.flags[row] & kFirst) != 0) running = 0.0;
    running = gamma_ * running + scale_ * batch.reward[row];
    returns_.push_back(running);
  }
}

void RewardScale::Save(const StateWriter& writer) const {
  writer.Doubles("statistics", {{statistics_.count, statistics_.mean, statistics_.m2}});
  const std::map<std::uint32_t, double> in_order(running_.begin(), running_.end());
  std::vector<std::uint64_t> agents;
  std::vector<double> discounted;
  for (const auto& [agent, running] : in_order) {
    agents.push_back(agent);
    discounted.push_back(running);
  }
  writer.Words("agents", agents);
  writer.Doubles("running_returns", discounted);
}

Status RewardScale::Load(const StateReader& reader) {
  std::array<double, 3> statistics;
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("statistics", statistics));
  const auto agents = reader.AllWords("agents");
  if (!agents.ok()) return agents.status();
  std::vector<double> discounted(agents->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("running_returns", discounted));
  statistics_ = {statistics[0], statistics[1], statistics[2]};
  own_ = {};
  running_.clear();
  for (std::size_t i = 0; i < agents->size(); ++i) {
    running_[static_cast<std::uint32_t>((*agents)[i])] = discounted[i];
  }
  return {};
}

}  // namespace murmurate
