// The arithmetic of server/network/action_head_kernels_source.h, one row a thread.
#pragma once

#include <cstring>

#include "server/compute/device/calls/head.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

/// A row of HeadRows.
struct HeadRow {
  const float *outputs, *log_deviations;
  const std::int32_t* action;
  const std::uint8_t* mask;
};

MURMURATE_DEVICE HeadRow RowOf(const HeadTable& head, const HeadRows& batch, std::size_t row) {
  return {batch.outputs + row * head.outputs, batch.log_deviations,
          batch.actions + row * head.words, batch.mask + row * head.mask_bytes};
}

MURMURATE_DEVICE float Clamped(float x, float low, float high) {
  return fmaxf(fminf(x, high), low);
}
/// Finite and above 0 for all x.
MURMURATE_DEVICE float BoundedExp(float x) { return expf(Clamped(x, -86.0f, 88.0f)); }

MURMURATE_DEVICE float RecordedNumber(std::int32_t word) {
  float number;
  memcpy(&number, &word, sizeof number);
  return number;
}

/// One discrete variable; a mask that forbids everything counts as one that allows everything.
struct DiscreteRow {
  const float* logits;
  const std::uint8_t* mask;
  bool any;                             ///< the mask allows something
  float top, log_sum, chosen, entropy;  ///< log_sum: of exp(logit - top)
};

MURMURATE_DEVICE bool May(const DiscreteRow& row, int choice) {
  return row.mask[choice] != 0 || !row.any;
}

MURMURATE_DEVICE DiscreteRow DiscreteOf(const HeadColumn& column, const HeadRow& row) {
  constexpr float kLowest = -3e38f, kForbidden = -1e9f;
  DiscreteRow of{row.outputs + column.output, row.mask + column.mask_byte, false, kLowest, 0, 0, 0};
  for (int j = 0; j < column.choices; ++j) of.any = of.any || of.mask[j] != 0;
  for (int j = 0; j < column.choices; ++j)
    if (May(of, j)) of.top = fmaxf(of.top, of.logits[j]);
  float sum = 0.0f, weighted = 0.0f, at_action = kForbidden;
  for (int j = 0; j < column.choices; ++j) {
    if (!May(of, j)) continue;
    const float x = of.logits[j] - of.top, e = BoundedExp(x);
    sum += e;
    weighted += e * x;
    if (j == row.action[column.word]) at_action = x;
  }
  of.log_sum = logf(sum);
  of.chosen = at_action - of.log_sum;
  of.entropy = of.log_sum - weighted / sum;
  return of;
}

/// One switch. With e = exp(-|l|): sigmoid(l) = 1 / (1 + e) for l >= 0, e / (1 + e) below.
struct SwitchRow {
  float logit, action, log_prob, entropy, probability, slope;  ///< slope: p (1 - p)
};

MURMURATE_DEVICE SwitchRow SwitchOf(const HeadColumn& column, const HeadRow& row) {
  SwitchRow of{};
  of.logit = row.outputs[column.output];
  of.action = static_cast<float>(row.action[column.word]);
  const float size = fabsf(of.logit), e = BoundedExp(-size), share = 1.0f / (1.0f + e);
  const float softplus = logf(1.0f + e);
  of.log_prob = (of.action > 0.0f ? fminf(of.logit, 0.0f) : -fmaxf(of.logit, 0.0f)) - softplus;
  of.entropy = softplus + size * e * share;
  of.probability = of.logit < 0.0f ? e * share : share;
  of.slope = e * share * share;
  return of;
}

/// One number.
struct GaussianRow {
  float log_deviation, inverse, z, log_prob, entropy;
  bool free;  ///< the log deviation lies within its clamp
};

/// log(1 - tanh(u)^2), which is even.
MURMURATE_DEVICE float LogSlope(float u) {
  constexpr float kFarthestSquashed = 1e6f, kLog2 = 0.693147181f;
  u = fabsf(Clamped(u, -kFarthestSquashed, kFarthestSquashed));
  return 2.0f * (kLog2 - u - logf(1.0f + BoundedExp(-2.0f * u)));
}

MURMURATE_DEVICE GaussianRow GaussianOf(const HeadColumn& column, const HeadRow& row) {
  constexpr float kHalfLogTwoPi = 0.918938533f, kFarthest = 1e9f;
  const float raw = (column.free_deviation ? row.log_deviations : row.outputs)[column.deviation];
  GaussianRow of{};
  of.log_deviation = Clamped(raw, -20.0f, 2.0f);
  of.free = raw == of.log_deviation;
  of.inverse = BoundedExp(-of.log_deviation);
  const float sample = RecordedNumber(row.action[column.word]);
  of.z = Clamped((sample - row.outputs[column.output]) * of.inverse, -kFarthest, kFarthest);
  of.log_prob = -0.5f * of.z * of.z - of.log_deviation - kHalfLogTwoPi;
  if (column.squashed) of.log_prob -= LogSlope(sample);
  of.entropy = of.log_deviation + (kHalfLogTwoPi + 0.5f);
  return of;
}

/// What the head says of a row's action, over all variables.
struct HeadValues {
  float log_prob, entropy, deviation;  ///< deviation: the sum over the numbers
};

/// `numbers`: continuous parts count, too.
MURMURATE_DEVICE HeadValues ValuesOf(const HeadTable& head, const HeadRow& row, bool numbers) {
  HeadValues all{0, 0, 0};
  for (int c = 0; c < head.column_count; ++c) {
    const HeadColumn& column = head.columns[c];
    if (column.kind == HeadColumn::Kind::kDiscrete) {
      const DiscreteRow of = DiscreteOf(column, row);
      all.log_prob += of.chosen;
      all.entropy += of.entropy;
    } else if (column.kind == HeadColumn::Kind::kBinary) {
      const SwitchRow of = SwitchOf(column, row);
      all.log_prob += of.log_prob;
      all.entropy += of.entropy;
    } else if (numbers) {
      const GaussianRow of = GaussianOf(column, row);
      all.log_prob += of.log_prob;
      all.entropy += of.entropy;
      all.deviation += expf(of.log_deviation);
    }
  }
  return all;
}

/// The gradients of a loss that come to a row.
struct HeadIncoming {
  float log_prob, entropy;
  bool alive;  ///< one of them is not 0; else the row gets zeros, whatever it holds
};

MURMURATE_DEVICE HeadIncoming IncomingOf(float d_log_prob, float d_entropy) {
  return {d_log_prob, d_entropy, fabsf(d_log_prob) + fabsf(d_entropy) > 0.0f};
}

MURMURATE_DEVICE void DiscreteGradient(const HeadColumn& column, const HeadRow& row,
                                       const HeadIncoming& d, float* d_outputs) {
  float* const to = d_outputs + column.output;
  for (int j = 0; j < column.choices; ++j) to[j] = 0.0f;
  if (!d.alive) return;
  const DiscreteRow of = DiscreteOf(column, row);
  for (int j = 0; j < column.choices; ++j) {
    if (!May(of, j)) continue;
    const float log_p = of.logits[j] - of.top - of.log_sum, p = BoundedExp(log_p);
    const float hit = j == row.action[column.word] ? 1.0f : 0.0f;
    to[j] = d.log_prob * (hit - p) - d.entropy * p * (log_p + of.entropy);
  }
}

MURMURATE_DEVICE void SwitchGradient(const HeadColumn& column, const HeadRow& row,
                                     const HeadIncoming& d, float* d_outputs) {
  const SwitchRow of = SwitchOf(column, row);
  d_outputs[column.output] =
      d.alive ? d.log_prob * (of.action - of.probability) - d.entropy * of.logit * of.slope : 0.0f;
}

MURMURATE_DEVICE float DeviationGradient(const GaussianRow& of, const HeadIncoming& d) {
  return d.alive && of.free ? d.log_prob * (of.z * of.z - 1.0f) + d.entropy : 0.0f;
}

MURMURATE_DEVICE void GaussianGradient(const HeadColumn& column, const HeadRow& row,
                                       const HeadIncoming& d, float* d_outputs) {
  const GaussianRow of = GaussianOf(column, row);
  d_outputs[column.output] = d.alive ? d.log_prob * of.z * of.inverse : 0.0f;
  if (!column.free_deviation) d_outputs[column.deviation] = DeviationGradient(of, d);
}

/// A row's d_outputs; of numbers only where they count.
MURMURATE_DEVICE void OutputGradient(const HeadTable& head, const HeadRow& row,
                                     const HeadIncoming& d, bool numbers, float* d_outputs) {
  for (int c = 0; c < head.column_count; ++c) {
    const HeadColumn& column = head.columns[c];
    if (column.kind == HeadColumn::Kind::kDiscrete) {
      DiscreteGradient(column, row, d, d_outputs);
    } else if (column.kind == HeadColumn::Kind::kBinary) {
      SwitchGradient(column, row, d, d_outputs);
    } else if (numbers) {
      GaussianGradient(column, row, d, d_outputs);
    }
  }
}

/// to[free deviation] <- the gradient summed over the block's rows. Every thread comes here; one
/// whose row is not there, with nothing alive.
MURMURATE_DEVICE void SumDeviationGradients(const HeadTable& head, const HeadRow& row,
                                            const HeadIncoming& d, double* parts, double* to) {
  if (head.free_deviations == 0) return;
  for (int c = 0; c < head.column_count; ++c) {
    const HeadColumn& column = head.columns[c];
    if (!column.free_deviation) continue;
    const double own = d.alive ? double{DeviationGradient(GaussianOf(column, row), d)} : 0.0;
    const double sum = SumOverBlock(own, parts);
    if (Thread() == 0) to[column.deviation] = sum;
  }
}

MURMURATE_KERNEL(EvaluateHead) {
  const std::size_t row = GlobalThread();
  if (row == 0 && call.control != nullptr) ++call.control->pass;
  if (row >= static_cast<std::size_t>(call.rows)) return;
  const HeadValues values = ValuesOf(call.head, RowOf(call.head, call.batch, row), true);
  call.log_prob[row] = values.log_prob;
  if (call.entropy != nullptr) call.entropy[row] = values.entropy;
  if (call.deviation != nullptr)
    call.deviation[row] = values.deviation / static_cast<float>(call.head.deviations);
}

}  // namespace murmurate
