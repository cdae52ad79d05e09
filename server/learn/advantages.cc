#include "server/learn/advantages.h"

#include <algorithm>
#include <cmath>

#include "server/learn/returns.h"

namespace murmurate {
namespace {

struct Moments {
  double mean = 0.0, variance = 0.0;
};

template <typename ValueOf>
Moments MomentsOf(std::span<const std::int32_t> rows, ValueOf value_of) {
  Moments moments;
  for (const std::int32_t row : rows) moments.mean += value_of(row);
  moments.mean /= static_cast<double>(rows.size());
  for (const std::int32_t row : rows) {
    const double distance = value_of(row) - moments.mean;
    moments.variance += distance * distance;
  }
  moments.variance /= static_cast<double>(rows.size());
  return moments;
}

}  // namespace

Advantages::Advantages(const AlgorithmSettings& settings, bool weighs_advantage)
    : settings_(settings), weighs_advantage_(weighs_advantage) {
  for (auto* column : {&value_, &next_value_, &log_ratio_, &target_, &advantage_, &start_log_prob_})
    column->resize(static_cast<std::size_t>(settings.batch_steps));
}

void Advantages::Record(const TrainingBatch& batch, std::span<const SeenRow> seen,
                        std::span<const float> values, std::span<const float> log_prob) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::int32_t row = seen[i].row;
    if (row == SeenRow::kPadding) continue;
    if (seen[i].successor != nullptr) {
      next_value_[row] = values[i];
    } else {
      value_[row] = values[i];
      start_log_prob_[row] = log_prob[i];
      log_ratio_[row] = log_prob[i] - batch.log_prob[row];
    }
  }
}

void Advantages::Compute(const TrainingBatch& batch, const BatchPlan& plan) {
  for (const int slot : plan.slots) FollowSteps(batch, slot);
  MeasureRatios(plan.rows);
  ComputeReturns(batch, plan);
  MeasureAdvantages(plan.rows);
  MeasureTargets(plan.rows);
}

/// The value after a step is that of the next one, but where an episode ends.
void Advantages::FollowSteps(const TrainingBatch& batch, int slot) {
  const std::int32_t first = slot * batch.length;
  const std::int32_t last = first + batch.trajectories[slot].steps - 1;
  for (std::int32_t row = first; row < last; ++row) {
    if ((batch.flags[row] & kTruncatedFlag) == 0) next_value_[row] = value_[row + 1];
  }
  if ((batch.flags[last] & kTerminatedFlag) != 0) next_value_[last] = 0.0f;
}

void Advantages::ComputeReturns(const TrainingBatch& batch, const BatchPlan& plan) {
  if (settings_.staleness != StalenessPolicy::kVtrace)
    std::fill(log_ratio_.begin(), log_ratio_.end(), 0.0f);
  VtraceSettings vtrace{settings_.gamma, settings_.lambda, settings_.rho_bar, settings_.c_bar};
  if (weighs_advantage_) vtrace.rho_pg_bar = settings_.rho_pg_bar;
  for (const int slot : plan.slots) {
    const std::size_t first = static_cast<std::size_t>(slot) * batch.length;
    const std::size_t steps = static_cast<std::size_t>(batch.trajectories[slot].steps);
    const auto part = [&](auto& column) { return std::span(column.data() + first, steps); };
    Vtrace(vtrace, part(log_ratio_), part(batch.reward), part(batch.flags), part(value_),
           part(next_value_), part(target_), part(advantage_));
  }
}

void Advantages::MeasureAdvantages(std::span<const std::int32_t> rows) {
  const Moments moments =
      MomentsOf(rows, [&](std::int32_t row) { return double{advantage_[row]}; });
  statistics_.advantage_mean = moments.mean;
  statistics_.advantage_deviation = std::sqrt(moments.variance);
  if (!settings_.normalize_advantage) return;
  const double scale = 1.0 / (std::sqrt(moments.variance) + 1e-8);
  for (const std::int32_t row : rows)
    advantage_[row] = static_cast<float>((advantage_[row] - moments.mean) * scale);
}

void Advantages::MeasureTargets(std::span<const std::int32_t> rows) {
  const Moments target = MomentsOf(rows, [&](std::int32_t row) { return double{target_[row]}; });
  const Moments error =
      MomentsOf(rows, [&](std::int32_t row) { return double{target_[row]} - double{value_[row]}; });
  statistics_.target_mean = target.mean;
  statistics_.target_deviation = std::sqrt(target.variance);
  statistics_.explained_variance =
      target.variance > 0.0 ? 1.0 - error.variance / target.variance : 0.0;
}

void Advantages::MeasureRatios(std::span<const std::int32_t> rows) {
  const double count = static_cast<double>(rows.size());
  double k3 = 0.0, sum = 0.0, squares = 0.0, truncated = 0.0;
  for (const std::int32_t row : rows) {
    const float ratio = std::exp(std::min(log_ratio_[row], 80.0f));  // finite for any claimed mu
    k3 += double{ratio} - 1.0 - double{log_ratio_[row]};
    sum += double{ratio};
    squares += double{ratio} * double{ratio};
    truncated += double{ratio} > settings_.rho_bar ? 1.0 : 0.0;
  }
  statistics_.lag_kl = k3 / count;
  statistics_.effective_share = squares > 0.0 ? sum * sum / (count * squares) : 0.0;
  statistics_.truncated_share = truncated / count;
}

}  // namespace murmurate
