// The one source of the action kernels, compiled after shared/compute/vector_SET.h for each set
// (dense_kernels_source.h says why nothing but the table is visible outside). One row lies in each
// lane; whatever a row holds stays in its lane.
#pragma once

#include "server/network/action_head_kernels.h"
#include "shared/compute/vector_functions.h"

namespace murmurate {
namespace {

using Stride = std::ptrdiff_t;

constexpr float kLowest = -3e38f, kForbidden = -1e9f;  // action_head.h
constexpr float kLowestDeviation = -20, kHighestDeviation = 2;
constexpr float kFarthest = 1e9f, kFarthestSquashed = 1e6f;
constexpr float kLog2 = 0.693147181f, kHalfLogTwoPi = 0.918938533f;

inline Vector Zero() { return Splat(0.0f); }
inline Vector One() { return Splat(1.0f); }
inline Vector Absolute(Vector x) { return Max(x, Zero() - x); }
inline Vector Clamp(Vector x, float low, float high) {
  return Max(Min(x, Splat(high)), Splat(low));
}

/// kLanes rows of a batch.
struct Rows {
  int first, count;
  Mask lanes;
  Rows(int row, int all)
      : first(row), count(all - row < kLanes ? all - row : kLanes), lanes(FirstLanes(count)) {}
};

inline Vector Outputs(const ActionCall& call, const Rows& rows, int output) {
  return Gather(call.batch.outputs + Stride{rows.first} * call.outputs + output, call.outputs,
                rows.lanes);
}

inline Vector Choices(const ActionCall& call, const Rows& rows, int word) {
  const std::int32_t* const from = call.batch.actions + Stride{rows.first} * call.words + word;
  if (call.words == 1) return LoadIntegers(from, rows.lanes);
  std::int32_t lanes[kLanes] = {};
  for (int i = 0; i < rows.count; ++i) lanes[i] = from[Stride{i} * call.words];
  return LoadIntegers(lanes, rows.lanes);
}

inline Vector Samples(const ActionCall& call, const Rows& rows, int word) {
  const std::int32_t* const from = call.batch.actions + Stride{rows.first} * call.words + word;
  float lanes[kLanes] = {};
  for (int i = 0; i < rows.count; ++i)
    __builtin_memcpy(&lanes[i], from + Stride{i} * call.words, sizeof(float));
  return Load(lanes);
}

/// 1 in the lanes whose mask allows the choice, 0 in the others.
inline Vector Allowances(const ActionCall& call, const Rows& rows, int byte) {
  const std::uint8_t* const from = call.batch.mask + Stride{rows.first} * call.mask_bytes + byte;
  float lanes[kLanes] = {};
  for (int i = 0; i < rows.count; ++i)
    lanes[i] = from[Stride{i} * call.mask_bytes] != 0 ? 1.0f : 0.0f;
  return Load(lanes);
}

/// One discrete variable. A lane whose mask forbids everything is as one that allows everything.
template <bool kMasked>
struct Softmax {
  const ActionCall& call;
  const Rows& rows;
  const ActionColumn& column;
  Vector threshold;                              ///< an allowance above it may be chosen
  Vector action, top, log_sum, chosen, entropy;  ///< log_sum: of exp(logit - top)

  Vector Logit(int j) const { return Outputs(call, rows, column.output + j); }
  Mask May(int j) const { return Greater(Allowances(call, rows, column.mask_byte + j), threshold); }
  /// `x` where choice j is allowed, `other` where not.
  Vector Where(int j, Vector x, Vector other) const {
    if constexpr (kMasked) return Select(May(j), x, other);
    return x;
  }

  Softmax(const ActionCall& c, const Rows& r, const ActionColumn& k)
      : call(c), rows(r), column(k), threshold(Zero()), action(Choices(c, r, k.word)) {
    if constexpr (kMasked) {
      Vector any = Zero();
      for (int j = 0; j < column.choices; ++j)
        any = Max(any, Allowances(call, rows, column.mask_byte + j));
      threshold = any - Splat(0.5f);
    }
    top = Where(0, Logit(0), Splat(kLowest));
    for (int j = 1; j < column.choices; ++j) top = Max(top, Where(j, Logit(j), Splat(kLowest)));
    Vector sum = Zero(), weighted = Zero(), at_action = Splat(kForbidden);
    for (int j = 0; j < column.choices; ++j) {
      const Vector x = Where(j, Logit(j) - top, Splat(kForbidden));
      const Vector e = Where(j, Exp(x), Zero());
      sum = sum + e;
      weighted = MulAdd(e, x, weighted);
      at_action = Select(Equal(action, Splat(static_cast<float>(j))), x, at_action);
    }
    log_sum = Log(sum);
    chosen = at_action - log_sum;
    entropy = log_sum - weighted / sum;
  }

  void Gradient(Vector d_log_prob, Vector d_entropy, Mask alive, float* d_outputs) const {
    float* const to = d_outputs + Stride{rows.first} * call.outputs + column.output;
    for (int j = 0; j < column.choices; ++j) {
      const Vector log_p = Logit(j) - top - log_sum, p = Exp(log_p);
      const Vector hit = Select(Equal(action, Splat(static_cast<float>(j))), One(), Zero());
      const Vector d = d_log_prob * (hit - p) - d_entropy * p * (log_p + entropy);
      Scatter(to + j, call.outputs, rows.lanes, Select(alive, Where(j, d, Zero()), Zero()));
    }
  }
};

/// One switch. With e = exp(-|l|): sigmoid(l) = 1 / (1 + e) for l >= 0, e / (1 + e) below.
struct Switch {
  Vector logit, action, log_prob, entropy, probability, slope;  ///< slope: p (1 - p)

  Switch(const ActionCall& call, const Rows& rows, const ActionColumn& column)
      : logit(Outputs(call, rows, column.output)), action(Choices(call, rows, column.word)) {
    const Vector size = Absolute(logit), e = Exp(Zero() - size), share = One() / (One() + e);
    const Vector softplus = Log(One() + e), on = Min(logit, Zero());
    log_prob = Select(Greater(action, Zero()), on, Zero() - Max(logit, Zero())) - softplus;
    entropy = softplus + size * e * share;
    probability = Select(Greater(Zero(), logit), e * share, share);
    slope = e * share * share;
  }

  Vector Gradient(Vector d_log_prob, Vector d_entropy) const {
    return d_log_prob * (action - probability) - d_entropy * logit * slope;
  }
};

/// One number.
struct Gaussian {
  Vector inverse, z, log_prob, entropy;
  Mask free;  ///< the log deviation lies within its clamp

  Gaussian(const ActionCall& call, const Rows& rows, const ActionColumn& column) {
    const Vector raw = column.free_deviation ? Splat(call.batch.log_deviations[column.deviation])
                                             : Outputs(call, rows, column.deviation);
    const Vector log_deviation = Clamp(raw, kLowestDeviation, kHighestDeviation);
    free = Equal(raw, log_deviation);
    inverse = Exp(Zero() - log_deviation);
    const Vector sample = Samples(call, rows, column.word);
    const Vector scaled = (sample - Outputs(call, rows, column.output)) * inverse;
    z = Clamp(scaled, -kFarthest, kFarthest);
    log_prob = Splat(-0.5f) * z * z - log_deviation - Splat(kHalfLogTwoPi);
    if (column.squashed) log_prob = log_prob - LogSlope(sample);
    entropy = log_deviation + Splat(kHalfLogTwoPi + 0.5f);
  }
  /// log(1 - tanh(u)^2), which is even.
  static Vector LogSlope(Vector u) {
    u = Absolute(Clamp(u, -kFarthestSquashed, kFarthestSquashed));
    return Splat(2.0f) * (Splat(kLog2) - u - Log(One() + Exp(Splat(-2.0f) * u)));
  }
};

template <bool kMasked>
void EvaluateRows(const ActionCall& call, const Rows& rows, float* log_prob, float* entropy) {
  Vector total = Zero(), total_entropy = Zero();
  const auto add = [&](Vector p, Vector h) {
    total = total + p;
    total_entropy = total_entropy + h;
  };
  for (int c = 0; c < call.column_count; ++c) {
    const ActionColumn& column = call.columns[c];
    if (column.kind == ActionPart::Kind::kDiscrete) {
      const Softmax<kMasked> softmax(call, rows, column);
      add(softmax.chosen, softmax.entropy);
    } else if (column.kind == ActionPart::Kind::kBinary) {
      const Switch one(call, rows, column);
      add(one.log_prob, one.entropy);
    } else {
      const Gaussian gaussian(call, rows, column);
      add(gaussian.log_prob, gaussian.entropy);
    }
  }
  StorePart(log_prob + rows.first, rows.lanes, total);
  if (entropy != nullptr) StorePart(entropy + rows.first, rows.lanes, total_entropy);
}

void Evaluate(const ActionCall& call, float* log_prob, float* entropy) {
  for (int row = 0; row < call.batch.rows; row += kLanes) {
    const Rows rows(row, call.batch.rows);
    if (call.batch.mask == nullptr) {
      EvaluateRows<false>(call, rows, log_prob, entropy);
    } else {
      EvaluateRows<true>(call, rows, log_prob, entropy);
    }
  }
}

/// The gradients that come in, and which rows have any.
struct Incoming {
  Vector log_prob, entropy;
  Mask alive;
};

void GaussianGradient(const ActionCall& call, const Rows& rows, const ActionColumn& column,
                      const Incoming& d, float* d_outputs, float* d_log_deviations) {
  const Gaussian gaussian(call, rows, column);
  float* const to = d_outputs + Stride{rows.first} * call.outputs;
  const Vector d_mean = d.log_prob * gaussian.z * gaussian.inverse;
  Scatter(to + column.output, call.outputs, rows.lanes, Select(d.alive, d_mean, Zero()));
  const Vector inside = d.log_prob * (gaussian.z * gaussian.z - One()) + d.entropy;
  const Vector d_deviation = Select(d.alive, Select(gaussian.free, inside, Zero()), Zero());
  if (column.free_deviation) {
    d_log_deviations[column.deviation] += Sum(d_deviation);
  } else {
    Scatter(to + column.deviation, call.outputs, rows.lanes, d_deviation);
  }
}

template <bool kMasked>
void GradientRows(const ActionCall& call, const Rows& rows, const Incoming& d, float* d_outputs,
                  float* d_log_deviations) {
  for (int c = 0; c < call.column_count; ++c) {
    const ActionColumn& column = call.columns[c];
    if (column.kind == ActionPart::Kind::kDiscrete) {
      Softmax<kMasked>(call, rows, column).Gradient(d.log_prob, d.entropy, d.alive, d_outputs);
    } else if (column.kind == ActionPart::Kind::kBinary) {
      const Vector d_logit = Switch(call, rows, column).Gradient(d.log_prob, d.entropy);
      Scatter(d_outputs + Stride{rows.first} * call.outputs + column.output, call.outputs,
              rows.lanes, Select(d.alive, d_logit, Zero()));
    } else {
      GaussianGradient(call, rows, column, d, d_outputs, d_log_deviations);
    }
  }
}

void Gradient(const ActionCall& call, const float* d_log_prob, const float* d_entropy,
              float* d_outputs, float* d_log_deviations) {
  for (int row = 0; row < call.batch.rows; row += kLanes) {
    const Rows rows(row, call.batch.rows);
    Incoming d{LoadPart(d_log_prob + row, rows.lanes), LoadPart(d_entropy + row, rows.lanes), {}};
    d.alive = Greater(Absolute(d.log_prob) + Absolute(d.entropy), Zero());
    if (call.batch.mask == nullptr) {
      GradientRows<false>(call, rows, d, d_outputs, d_log_deviations);
    } else {
      GradientRows<true>(call, rows, d, d_outputs, d_log_deviations);
    }
  }
}

/// kLanes rows of a loss: what each gains by its action, and what is the same for every loss.
struct LossRows {
  const PolicyLossSettings& settings;
  const PolicyLossRows& batch;
  const Rows& rows;
  float scale;
  PolicyLossSums* sums;
  float *d_log_prob, *d_entropy, *d_values;

  Vector Load(const float* from) const { return LoadPart(from + rows.first, rows.lanes); }
  Vector log_ratio() const { return Load(batch.log_prob) - Load(batch.behaviour_log_prob); }

  double Total(Vector x) const {
    const Vector weight = Load(batch.weight);
    return double{Sum(Select(Greater(weight, Zero()), weight * x, Zero()))};
  }
  void Store(float* to, Vector d) const {
    const Vector weight = Load(batch.weight);
    const Mask alive = Greater(weight, Zero());
    StorePart(to + rows.first, rows.lanes, Select(alive, weight * Splat(scale) * d, Zero()));
  }
  /// `slope` is the loss's by log pi.
  void Finish(Vector gain, Vector slope) const {
    const Vector change = Load(batch.log_prob) - Load(batch.start_log_prob);
    const Vector error = Load(batch.values) - Load(batch.value_target);
    Store(d_log_prob, slope);
    Store(d_entropy, Splat(-settings.entropy));
    Store(d_values, Splat(settings.value_weight) * error);
    sums->policy_loss -= Total(gain);
    sums->value_loss += Total(Splat(0.5f) * error * error);
    sums->entropy += Total(Load(batch.entropy));
    sums->approx_kl += Total(Exp(change) - One() - change);
  }
};

void ClippedPolicyRows(const LossRows& loss) {
  const float clip = loss.settings.clip, dual_clip = loss.settings.dual_clip;
  const Vector a = loss.Load(loss.batch.advantage), ratio = Exp(loss.log_ratio());
  const Vector clipped = Clamp(ratio, 1.0f - clip, 1.0f + clip);
  const Vector free_gain = ratio * a, clipped_gain = clipped * a;
  Vector slope = Select(Greater(free_gain, clipped_gain), Zero(), Zero() - free_gain);
  Vector gain = Min(free_gain, clipped_gain);
  if (dual_clip > 0.0f) {
    const Vector least = Select(Greater(Zero(), a), Splat(dual_clip) * a, gain);
    slope = Select(Greater(least, gain), Zero(), slope);
    gain = Select(Greater(least, gain), least, gain);
  }
  loss.Finish(gain, slope);
  loss.sums->clipped += loss.Total(Select(Equal(ratio, clipped), Zero(), One()));
}

void PolicyGradientRows(const LossRows& loss) {
  const Vector a = loss.Load(loss.batch.advantage);
  loss.Finish(loss.Load(loss.batch.log_prob) * a, Zero() - a);
}

template <void (*kRows)(const LossRows&)>
void AllRows(const PolicyLossSettings& settings, const PolicyLossRows& batch, PolicyLossSums* sums,
             float* d_log_prob, float* d_entropy, float* d_values) {
  const float scale = sums->weight > 0 ? static_cast<float>(1.0 / sums->weight) : 0.0f;
  for (int row = 0; row < batch.rows; row += kLanes)
    kRows({settings, batch, Rows(row, batch.rows), scale, sums, d_log_prob, d_entropy, d_values});
}

}  // namespace

constinit const ActionKernels ActionKernels::MURMURATE_KERNEL_SET = {
    Evaluate, Gradient, AllRows<ClippedPolicyRows>, AllRows<PolicyGradientRows>};

}  // namespace murmurate
