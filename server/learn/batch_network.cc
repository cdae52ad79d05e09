#include "server/learn/batch_network.h"

#include <algorithm>

#include "server/learn/batch_planner.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

/// The rows of a lane at most: a trajectory and what followed each truncation and its end.
int LongestLane(const ModelSpec& spec, const AlgorithmSettings& settings) {
  const TrajectoryLayout layout(spec, settings.trajectory_length);
  return layout.length + layout.max_finals + 1;
}

std::size_t DeviationOffset(const ParameterLayout& layout, const ActionLayout& action) {
  return action.free_deviations() == 0 ? 0 : layout.Find("policy.log_deviation").offset;
}

}  // namespace

BatchNetwork::BatchNetwork(const ModelSpec& spec, const AlgorithmSettings& settings)
    : lane_count_(LanesOf(spec, settings)),
      burn_in_(recurrent() ? settings.burn_in : 0),
      batch_steps_(settings.batch_steps),
      most_rows_(settings.minibatch),
      max_rows_(std::max(settings.minibatch, lane_count_ * LongestLane(spec, settings))),
      network_(spec, max_rows_, settings.threads, LongestLane(spec, settings)),
      action_layout_(spec.spaces.action, spec.continuous),
      shared_value_(!spec.Find(kValueNetwork)->shares.empty()),
      deviation_(DeviationOffset(network_.layout(), action_layout_)),
      lanes_(lane_count_, LongestLane(spec, settings), network_.state_floats()),
      minibatch_(spec, max_rows_),
      outputs_(static_cast<std::size_t>(max_rows_) * action_layout_.outputs()),
      values_(max_rows_),
      d_outputs_(outputs_.size()),
      d_values_(max_rows_),
      d_deviations_(action_layout_.free_deviations()) {
  if (!recurrent()) all_.reserve(2 * static_cast<std::size_t>(settings.batch_steps));
  seen_.reserve(static_cast<std::size_t>(max_rows_));
}

void BatchNetwork::Begin(const TrainingBatch& batch, const BatchPlan& plan) {
  MURMURATE_CHECK(batch.rows() <= batch_steps_ && minibatch_.Fits(batch),
                  "a batch must have the rows and columns the algorithm was made for");
  batch_ = &batch;
  plan_ = &plan;
}

void BatchNetwork::Forward(const PlannedUpdate& update, std::span<const float> parameters) {
  if (plan_->one_pass) return;
  const auto order = std::span(plan_->order).subspan(update.first, update.count);
  const auto weights = std::span(plan_->weights)
                           .subspan(plan_->weights.empty() ? 0 : update.first,
                                    plan_->weights.empty() ? 0 : update.count);
  if (recurrent()) return ForwardLanes(order, weights, parameters);
  seen_.clear();
  for (std::size_t i = 0; i < order.size(); ++i)
    seen_.push_back({.row = order[i], .weight = weights.empty() ? 1.0f : weights[i]});
  ForwardSeen(parameters, nullptr);
}

void BatchNetwork::ForwardLanes(std::span<const int> slots, std::span<const float> weights,
                                std::span<const float> parameters) {
  if (burn_in_ > 0) {
    lanes_.Lay(*batch_, slots, weights, 0, burn_in_, false, &seen_);
    // The state is the policy's: a value with layers of its own does not bring it up to date.
    ForwardSeen(parameters, &lanes_.SequencesKeepingState(), shared_value_);
  }
  lanes_.Lay(*batch_, slots, weights, burn_in_, batch_->length, false, &seen_);
  if (burn_in_ > 0) lanes_.BeginWithStateAfter();
  ForwardSeen(parameters, &lanes_.sequences());
}

void BatchNetwork::ForwardSeen(std::span<const float> parameters, const Sequences* sequences,
                               bool values_alone) {
  minibatch_.Gather(*batch_, seen_, plan_->rows.front());
  network_.Forward(parameters, minibatch_.observations(), rows(),
                   values_alone ? nullptr : outputs_.data(), values_.data(), sequences);
}

void BatchNetwork::Backward(std::span<const float> parameters, std::span<float> gradient) {
  network_.Backward(parameters, d_outputs_.data(), d_values_.data(), gradient);
  std::copy(d_deviations_.begin(), d_deviations_.end(), gradient.begin() + deviation_);
}

ActionRows BatchNetwork::Actions(std::span<const float> parameters) const {
  return minibatch_.Actions(outputs_.data(),
                            d_deviations_.size() == 0 ? nullptr : parameters.data() + deviation_);
}

}  // namespace murmurate
