#pragma once

#include "server/compute/device/calls/loss.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/head.h"

namespace murmurate {

/// The sum of numbers i * stride for i < count, in every thread of the block.
MURMURATE_DEVICE double SumOfParts(const double* from, int count, int stride, double* parts) {
  double own = 0.0;
  for (int i = static_cast<int>(Thread()); i < count; i += static_cast<int>(Threads()))
    own += from[static_cast<std::size_t>(i) * stride];
  return SumOverBlock(own, parts);
}

/// to[i] <- own[i] summed over the block.
MURMURATE_DEVICE void LeaveSums(const double* own, int count, double* parts, double* to) {
  for (int i = 0; i < count; ++i) {
    const double sum = SumOverBlock(own[i], parts);
    if (Thread() == 0) to[i] = sum;
  }
}

/// What a row gains by its action.
struct PolicyGain {
  float gain, slope;  ///< slope: the loss's by log pi
  bool clipped;
};

MURMURATE_DEVICE PolicyGain ClippedGain(const TrainingControl& control, float log_ratio, float a) {
  const float ratio = BoundedExp(log_ratio), clip = control.clip, dual_clip = control.dual_clip;
  const float clipped = Clamped(ratio, 1.0f - clip, 1.0f + clip);
  const float free_gain = ratio * a, clipped_gain = clipped * a;
  PolicyGain of{fminf(free_gain, clipped_gain), free_gain > clipped_gain ? 0.0f : -free_gain,
                ratio != clipped};
  if (dual_clip > 0.0f && a < 0.0f && dual_clip * a > of.gain) {
    of.gain = dual_clip * a;
    of.slope = 0.0f;
  }
  return of;
}

MURMURATE_DEVICE float PolicyChange(float change) { return BoundedExp(change) - 1.0f - change; }

/// Sums and gradients of one row, which has a weight. `scale`: 1 over the sum of the weights.
MURMURATE_DEVICE HeadIncoming PolicyLossRow(const PolicyLossCall& call, std::size_t row,
                                            float scale, double* sums) {
  const TrainingControl& control = *call.control;
  const HeadValues head = ValuesOf(call.head, RowOf(call.head, call.batch, row), true);
  const float weight = call.weight[row], a = call.advantage[row];
  const PolicyGain of = call.clips_ratio
                            ? ClippedGain(control, head.log_prob - call.behaviour_log_prob[row], a)
                            : PolicyGain{head.log_prob * a, -a, false};
  const float error = call.values[row] - call.value_target[row];
  const float change = head.log_prob - call.start_log_prob[row];
  call.d_values[row] = weight * scale * (control.value_weight * error);
  sums[0] = double{weight};
  sums[1] = -double{weight * of.gain};
  sums[2] = double{weight * (0.5f * error * error)};
  sums[3] = double{weight * head.entropy};
  sums[4] = double{weight * PolicyChange(change)};
  sums[5] = of.clipped ? double{weight} : 0.0;
  return IncomingOf(weight * scale * of.slope, weight * scale * -control.entropy);
}

MURMURATE_DEVICE float ScaleOf(const double* weight_parts, double* parts) {
  const double weight = SumOfParts(weight_parts, static_cast<int>(Blocks()), 1, parts);
  return weight > 0.0 ? static_cast<float>(1.0 / weight) : 0.0f;
}

MURMURATE_KERNEL(PolicyLoss) {
  MURMURATE_SHARED(double, parts, 32);
  if (call.control->stopped != 0) return;
  const float scale = ScaleOf(call.parts.weight, parts);
  const std::size_t row = GlobalThread();
  const bool there = row < static_cast<std::size_t>(call.rows);
  double sums[kLossSums] = {};
  HeadIncoming d{0, 0, false};
  if (there && call.weight[row] > 0.0f) {
    d = PolicyLossRow(call, row, scale, sums);
  } else if (there) {
    call.d_values[row] = 0.0f;
  }
  const HeadRow of = RowOf(call.head, call.batch, there ? row : 0);
  if (there) OutputGradient(call.head, of, d, true, call.d_outputs + row * call.head.outputs);
  LeaveSums(sums, kLossSums, parts, call.parts.sums + Block() * kLossSums);
  SumDeviationGradients(call.head, of, d, parts,
                        call.parts.deviations + Block() * call.head.free_deviations);
}

/// The likeliest choice that the mask allows; -1: it allows none.
MURMURATE_DEVICE int Likeliest(const HeadColumn& column, const HeadRow& row) {
  int best = -1;
  for (int j = 0; j < column.choices; ++j) {
    if (row.mask[column.mask_byte + j] == 0) continue;
    if (best < 0 || row.outputs[column.output + j] > row.outputs[column.output + best]) best = j;
  }
  return best;
}

/// Adds the number's loss and distance; its gradient by the mean where that is wanted.
MURMURATE_DEVICE void LabelNumber(const LabelLossCall& call, const HeadColumn& column,
                                  const HeadRow& row, double weight, double scale, double* sums,
                                  float* d_outputs) {
  const double label = double{RecordedNumber(row.action[column.word])};
  if (call.squared_error) {
    d_outputs[column.output] = 0.0f;
    if (!column.free_deviation && column.deviation >= 0) d_outputs[column.deviation] = 0.0f;
  }
  if (weight <= 0.0 || label != label) return;
  const double error = double{row.outputs[column.output]} - label;
  sums[4] += weight;
  sums[5] += weight * fabs(error);
  if (!call.squared_error) return;
  sums[1] += weight * error * error / column.part_count;
  d_outputs[column.output] = static_cast<float>(weight * scale * 2.0 * error / column.part_count);
}

/// What is counted of a row's labels, and the gradient of its numbers.
MURMURATE_DEVICE void CountLabels(const LabelLossCall& call, const HeadRow& row, double weight,
                                  double scale, double* sums, float* d_outputs) {
  for (int c = 0; c < call.head.column_count; ++c) {
    const HeadColumn& column = call.head.columns[c];
    if (column.kind == HeadColumn::Kind::kContinuous) {
      LabelNumber(call, column, row, weight, scale, sums, d_outputs);
      continue;
    }
    if (weight <= 0.0) continue;
    const int likeliest = column.kind == HeadColumn::Kind::kDiscrete
                              ? Likeliest(column, row)
                              : (row.outputs[column.output] > 0.0f ? 1 : 0);
    sums[2] += weight;
    if (likeliest == row.action[column.word]) sums[3] += weight;
  }
}

MURMURATE_KERNEL(LabelLoss) {
  MURMURATE_SHARED(double, parts, 32);
  if (call.control->stopped != 0) return;
  const double all = SumOfParts(call.parts.weight, static_cast<int>(Blocks()), 1, parts);
  const double scale = all > 0.0 ? 1.0 / all : 0.0;
  const std::size_t row = GlobalThread();
  const bool there = row < static_cast<std::size_t>(call.rows);
  const HeadRow of = RowOf(call.head, call.batch, there ? row : 0);
  const double weight = there ? double{call.weight[row]} : 0.0;
  double sums[kLossSums] = {weight};
  HeadIncoming d{0, 0, false};
  if (weight > 0.0) {
    sums[1] = -weight * double{ValuesOf(call.head, of, !call.squared_error).log_prob};
    d = IncomingOf(static_cast<float>(-weight * scale), 0.0f);
  }
  if (there) {
    float* const d_outputs = call.d_outputs + row * call.head.outputs;
    OutputGradient(call.head, of, d, !call.squared_error, d_outputs);
    CountLabels(call, of, weight, scale, sums, d_outputs);
    if (call.d_values != nullptr) call.d_values[row] = 0.0f;
  }
  LeaveSums(sums, kLossSums, parts, call.parts.sums + Block() * kLossSums);
  if (call.squared_error) d.alive = false;
  SumDeviationGradients(call.head, of, d, parts,
                        call.parts.deviations + Block() * call.head.free_deviations);
}

/// Counts an update of labels: what was learned from, what was scored, or both.
MURMURATE_DEVICE void CountLabelSums(const double* sums, int scored_sums, std::uint32_t pass,
                                     TrainingControl* control) {
  const std::uint32_t update = pass - control->first_update;
  const bool scored =
      control->scores != 0 || (control->scored_too != 0 && update < control->updates_a_pass);
  for (int i = 0; i < kLossSums; ++i) {
    if (control->scores == 0) control->sums[i] += sums[i];
    if (scored) control->sums[scored_sums + i] += sums[i];
  }
}

/// Counts an update of a policy, and leaves the batch where it went too far.
MURMURATE_DEVICE void CountPolicySums(const double* sums, const FinishLossCall& call) {
  TrainingControl* const control = call.control;
  for (int i = 0; i < kLossSums; ++i) control->sums[i] += sums[i];
  if (control->most_kl > 0.0f && sums[kPolicyKlSum] > double{control->most_kl} * sums[0]) {
    control->stopped = 1;
  } else {
    control->sums[call.updates_sum] += 1.0;
  }
}

MURMURATE_KERNEL(FinishLoss) {
  MURMURATE_SHARED(double, parts, 32);
  if (call.control->stopped != 0) {  // no parts were left
    if (Thread() == 0) ++call.control->pass;
    return;
  }
  double sums[kLossSums];
  for (int i = 0; i < kLossSums; ++i)
    sums[i] = SumOfParts(call.parts.sums + i, call.blocks, kLossSums, parts);
  for (int i = 0; i < call.free_deviations; ++i) {
    const double sum =
        SumOfParts(call.parts.deviations + i, call.blocks, call.free_deviations, parts);
    if (Thread() == 0) call.d_log_deviations[i] = static_cast<float>(sum);
  }
  if (Thread() != 0) return;
  const std::uint32_t pass = call.control->pass++;
  ++call.control->begun;
  if (call.scored_sums >= 0) {
    CountLabelSums(sums, call.scored_sums, pass, call.control);
  } else {
    CountPolicySums(sums, call);
  }
}

}  // namespace murmurate
