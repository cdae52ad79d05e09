#pragma once

#include "server/compute/device/calls/returns.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/loss.h"

namespace murmurate {

MURMURATE_KERNEL(RecordRows) {
  MURMURATE_SHARED(double, parts, 32);
  double own[2] = {};
  const std::size_t i = GlobalThread();
  const std::int32_t row = i < static_cast<std::size_t>(call.rows) ? call.row[i] : -1;
  if (row >= 0 && call.source[i] != 0) {
    call.columns.next_value[row] = call.values[i];
  } else if (row >= 0) {
    call.columns.value[row] = call.values[i];
    call.columns.start_log_prob[row] = call.log_prob[i];
    call.columns.log_ratio[row] = call.log_prob[i] - call.behaviour[row];
    if (call.deviation != nullptr) own[0] = double{call.deviation[i]};
    own[1] = 1.0;
  }
  if (call.deviation != nullptr) LeaveSums(own, 2, parts, call.parts + Block() * 2);
}

MURMURATE_KERNEL(FinishRecord) {
  MURMURATE_SHARED(double, parts, 32);
  for (int i = 0; i < 2; ++i) {
    const double sum = SumOfParts(call.parts + i, call.blocks, 2, parts);
    if (Thread() == 0) call.control->sums[call.first + i] += sum;
  }
}

/// A step as V-trace sees it; `there`: it is one of the trajectory's.
struct TracedStep {
  bool there, terminated, cut;  ///< cut: terminated or truncated
  float value, next, reward, log_ratio;
};

MURMURATE_DEVICE TracedStep StepAt(const ReturnsToTrace& of, std::int64_t row, std::int64_t first,
                                   std::int64_t last) {
  if (row < first) return {};
  const ReturnColumns& columns = of.columns;
  const std::uint8_t flags = of.flags[row];
  const bool terminated = (flags & kStepTerminated) != 0, truncated = (flags & kStepTruncated) != 0;
  const float next = row == last || truncated ? columns.next_value[row] : columns.value[row + 1];
  return {true,
          terminated,
          terminated || truncated,
          columns.value[row],
          terminated ? 0.0f : next,
          of.reward[row],
          columns.log_ratio[row]};
}

/// x -> add + times x.
struct AffineMap {
  double add, times;
};
/// `after`, then `map`. Nothing passes a map that takes all to one number, not even what is none.
MURMURATE_DEVICE AffineMap Composed(const AffineMap& map, const AffineMap& after) {
  return map.times == 0.0 ? map
                          : AffineMap{map.add + map.times * after.add, map.times * after.times};
}

/// What a step makes of the correction v - V(x) of the step after it.
struct TraceTerms {
  double error, weight;  ///< weight: of the advantage
  double discount;       ///< of the correction in the advantage
  AffineMap correction;
};
MURMURATE_DEVICE TraceTerms TermsOf(const ReturnsToTrace& of, const TracedStep& step) {
  const double gamma = step.terminated ? 0.0 : of.gamma, value = double{step.value};
  const double ratio = of.corrects ? exp(double{step.log_ratio}) : 1.0;
  const double error = double{step.reward} + gamma * double{step.next} - value;
  const double discount = step.cut ? 0.0 : gamma * of.lambda;
  return {error,
          of.weighs ? fmin(of.rho_pg_bar, ratio) : 1.0,
          discount,
          {fmin(of.rho_bar, ratio) * error, discount * fmin(of.c_bar, ratio)}};
}

/// Writes target and advantage of a step; gives its correction, for the step before.
MURMURATE_DEVICE double TraceStep(const ReturnsToTrace& of, const TracedStep& step,
                                  std::int64_t row, double correction) {
  if (step.cut) correction = 0.0;
  const TraceTerms terms = TermsOf(of, step);
  of.columns.advantage[row] =
      static_cast<float>(terms.weight * (terms.error + terms.discount * correction));
  correction = terms.correction.add + terms.correction.times * correction;
  of.columns.target[row] = static_cast<float>(double{step.value} + correction);
  return correction;
}

/// step(step, row) for the trajectory's rows from `begin` to `end` - 1, the last one first.
template <typename Step>
MURMURATE_DEVICE void EachStepBack(const ReturnsToTrace& of, std::int64_t begin, std::int64_t end,
                                   std::int64_t last, const Step& step) {
  constexpr int kAtOnce = 8;  // steps whose numbers are on their way together
  for (std::int64_t row = end - 1; row >= begin; row -= kAtOnce) {
    TracedStep steps[kAtOnce];
    for (int i = 0; i < kAtOnce; ++i) steps[i] = StepAt(of, row - i, begin, last);
    for (int i = 0; i < kAtOnce; ++i)
      if (steps[i].there) step(steps[i], row - i);
  }
}

MURMURATE_KERNEL(TraceReturns) {
  const std::size_t slot = GlobalThread();
  if (slot >= call.of.plan.counts->slots) return;
  const std::int64_t first = std::int64_t{call.of.plan.slots[slot]} * call.of.length;
  const std::int64_t last = first + call.of.plan.steps[slot] - 1;
  double correction = 0.0;
  EachStepBack(call.of, first, last + 1, last, [&](const TracedStep& step, std::int64_t row) {
    correction = TraceStep(call.of, step, row, correction);
  });
}

/// The composition of the maps of this thread and all behind it, in `maps`, which has one each.
MURMURATE_DEVICE void ScanMaps(AffineMap own, AffineMap* maps) {
  for (unsigned distance = 1; distance < Threads(); distance *= 2) {
    maps[Thread()] = own;
    SyncThreads();
    if (Thread() + distance < Threads()) own = Composed(own, maps[Thread() + distance]);
    SyncThreads();  // maps were read
  }
  maps[Thread()] = own;
  SyncThreads();
}

MURMURATE_KERNEL(ScanReturns) {
  MURMURATE_SHARED(AffineMap, maps, kScanThreads);
  if (Block() >= call.of.plan.counts->slots) return;
  const std::int64_t first = std::int64_t{call.of.plan.slots[Block()]} * call.of.length;
  const std::int64_t last = first + call.of.plan.steps[Block()] - 1;
  const std::int64_t each = (last - first + Threads()) / Threads();
  const std::int64_t begin = first + Thread() * each;
  const std::int64_t end = begin + each <= last ? begin + each : last + 1;
  AffineMap own = {0.0, 1.0};
  EachStepBack(call.of, begin, end, last, [&](const TracedStep& step, std::int64_t) {
    own = Composed(TermsOf(call.of, step).correction, own);
  });
  ScanMaps(own, maps);
  double correction = Thread() + 1 < Threads() ? maps[Thread() + 1].add : 0.0;
  EachStepBack(call.of, begin, end, last, [&](const TracedStep& step, std::int64_t row) {
    correction = TraceStep(call.of, step, row, correction);
  });
}

MURMURATE_KERNEL(MeasureRows) {
  MURMURATE_SHARED(double, parts, 32);
  double sums[ReturnParts::kMeans] = {};
  for (std::size_t i = GlobalThread(); i < call.plan.counts->rows; i += AllThreads()) {
    const std::int32_t row = call.plan.rows[i];
    const double target = double{call.columns.target[row]};
    const float log_ratio = call.columns.log_ratio[row];
    const double ratio = double{expf(fminf(log_ratio, 80.0f))};  // finite for any claimed mu
    sums[0] += double{call.columns.advantage[row]};
    sums[1] += target;
    sums[2] += target - double{call.columns.value[row]};
    sums[3] += ratio - 1.0 - double{log_ratio};
    sums[4] += ratio;
    sums[5] += ratio * ratio;
    sums[6] += ratio > call.rho_bar ? 1.0 : 0.0;
  }
  LeaveSums(sums, ReturnParts::kMeans, parts, call.parts.means + Block() * ReturnParts::kMeans);
}

MURMURATE_KERNEL(MeasureSpread) {
  MURMURATE_SHARED(double, parts, 32);
  const double rows = static_cast<double>(call.plan.counts->rows);
  if (rows == 0.0) return;
  double mean[ReturnParts::kSpreads], squares[ReturnParts::kSpreads] = {};
  for (int i = 0; i < ReturnParts::kSpreads; ++i)
    mean[i] =
        SumOfParts(call.parts.means + i, static_cast<int>(Blocks()), ReturnParts::kMeans, parts) /
        rows;
  for (std::size_t i = GlobalThread(); i < call.plan.counts->rows; i += AllThreads()) {
    const std::int32_t row = call.plan.rows[i];
    const double target = double{call.columns.target[row]};
    const double of[] = {double{call.columns.advantage[row]}, target,
                         target - double{call.columns.value[row]}};
    for (int k = 0; k < ReturnParts::kSpreads; ++k)
      squares[k] += (of[k] - mean[k]) * (of[k] - mean[k]);
  }
  LeaveSums(squares, ReturnParts::kSpreads, parts,
            call.parts.spreads + Block() * ReturnParts::kSpreads);
}

/// The statistics of a batch of `rows` rows from its sums and variances.
MURMURATE_DEVICE void CountReturns(const NormalizeAdvantagesCall& call, double rows,
                                   const double* means, const double* variances) {
  double* const sums = call.control->sums;
  const double ratio = means[4], squares = means[5];
  sums[call.sums.explained_variance] = variances[1] > 0.0 ? 1.0 - variances[2] / variances[1] : 0.0;
  sums[call.sums.lag_kl] = means[3] / rows;
  sums[call.sums.rows] = rows;
  sums[call.sums.effective] = squares > 0.0 ? ratio * ratio / squares : 0.0;
  sums[call.sums.truncated] = means[6];
  sums[call.sums.corrected_rows] = call.corrects ? rows : 0.0;
  sums[call.sums.target] = means[1];
  sums[call.sums.target_spread] = sqrt(variances[1]) * rows;
  sums[call.sums.advantage] = means[0];
  sums[call.sums.advantage_spread] = sqrt(variances[0]) * rows;
}

MURMURATE_KERNEL(NormalizeAdvantages) {
  MURMURATE_SHARED(double, parts, 32);
  const double rows = static_cast<double>(call.plan.counts->rows);
  if (GlobalThread() == 0) call.control->sums[call.sums.clip] = double{call.control->clip};
  if (rows == 0.0) return;
  double means[ReturnParts::kMeans], variances[ReturnParts::kSpreads];
  const int blocks = static_cast<int>(Blocks());
  for (int i = 0; i < ReturnParts::kMeans; ++i)
    means[i] = SumOfParts(call.parts.means + i, blocks, ReturnParts::kMeans, parts);
  for (int i = 0; i < ReturnParts::kSpreads; ++i)
    variances[i] = SumOfParts(call.parts.spreads + i, blocks, ReturnParts::kSpreads, parts) / rows;
  if (GlobalThread() == 0) CountReturns(call, rows, means, variances);
  if (!call.normalizes) return;
  const double mean = means[0] / rows, scale = 1.0 / (sqrt(variances[0]) + 1e-8);
  for (std::size_t i = GlobalThread(); i < call.plan.counts->rows; i += AllThreads()) {
    float& advantage = call.columns.advantage[call.plan.rows[i]];
    advantage = static_cast<float>((double{advantage} - mean) * scale);
  }
}

MURMURATE_KERNEL(MeasureChange) {
  MURMURATE_SHARED(double, parts, 32);
  const std::size_t i = GlobalThread();
  const std::int32_t row = i < static_cast<std::size_t>(call.rows) ? call.row[i] : -1;
  double own = 0.0;
  if (row >= 0 && call.source[i] == 0) {
    const double change = fmin(double{call.log_prob[i]} - double{call.start_log_prob[row]}, 80.0);
    own = exp(change) - 1.0 - change;
  }
  const double sum = SumOverBlock(own, parts);
  if (Thread() == 0) call.parts[Block()] = sum;
}

MURMURATE_KERNEL(FinishChange) {
  MURMURATE_SHARED(double, parts, 32);
  const double sum = SumOfParts(call.parts, call.blocks, 1, parts);
  if (Thread() != 0 || call.counts->rows == 0) return;
  TrainingControl* const control = call.control;
  control->change += sum;
  control->kl = control->change / static_cast<double>(call.counts->rows);
  control->sums[call.kl_sum] = control->kl * control->sums[call.weight_sum];
}

}  // namespace murmurate
