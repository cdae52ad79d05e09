// Log-probability and entropy of an action in plain double precision, written from the definitions
// in shared/inference/action_head.h: what the kernels are held against.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "shared/core/random.h"
#include "shared/model/action_layout.h"

namespace murmurate {

struct Likelihood {
  double log_prob = 0, entropy = 0;
};

/// Adds one variable with these probabilities.
inline void AddChoice(const std::vector<double>& p, int chosen, Likelihood* total) {
  total->log_prob += std::log(p[chosen]);
  for (const double x : p) total->entropy -= x > 0 ? x * std::log(x) : 0;
}

inline std::vector<double> MaskedSoftmax(const double* x, const std::uint8_t* mask, int n,
                                         double temperature) {
  std::vector<double> p(n);
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int j = 0; j < n; ++j)
    if (mask == nullptr || mask[j]) top = std::max(top, x[j]);
  for (int j = 0; j < n; ++j) {
    p[j] = mask == nullptr || mask[j] ? std::exp((x[j] - top) / temperature) : 0;
    sum += p[j];
  }
  for (double& q : p) q /= sum;
  return p;
}

inline void AddGaussian(double mean, double log_deviation, double u, bool squashed,
                        Likelihood* total) {
  const double z = (u - mean) / std::exp(log_deviation), far = std::abs(u);
  total->log_prob += -0.5 * z * z - log_deviation - 0.5 * std::log(2 * std::numbers::pi);
  if (squashed) total->log_prob -= 2 * (std::numbers::ln2 - far - std::log1p(std::exp(-2 * far)));
  total->entropy += log_deviation + 0.5 * std::log(2 * std::numbers::pi * std::numbers::e);
}

/// One row. `mask`: null, or of the whole row.
inline Likelihood ReferenceLikelihood(const ActionLayout& layout, const double* outputs,
                                      const double* log_deviations, const std::int32_t* action,
                                      const std::uint8_t* mask, double temperature = 1) {
  Likelihood total;
  for (const ActionPart& part : layout.parts()) {
    const double* x = outputs + part.first_output;
    const std::uint8_t* m = mask == nullptr ? nullptr : mask + part.first_mask_byte;
    for (int i = 0; i < part.count; ++i) {
      const std::int32_t word = action[part.first_word + i];
      if (part.kind == ActionPart::Kind::kDiscrete) {
        AddChoice(MaskedSoftmax(x, m, part.choices[i], temperature), word, &total);
        x += part.choices[i];
        if (m != nullptr) m += part.choices[i];
      } else if (part.kind == ActionPart::Kind::kBinary) {
        const double p = 1 / (1 + std::exp(-x[i] / temperature));
        AddChoice({1 - p, p}, word, &total);
      } else {
        const double raw =
            part.first_deviation < 0 ? x[part.count + i] : log_deviations[part.first_deviation + i];
        AddGaussian(x[i], std::clamp(raw, -20.0, 2.0) + 0.5 * std::log(temperature),
                    std::bit_cast<float>(word), layout.settings().squashed, &total);
      }
    }
  }
  return total;
}

/// A batch of random outputs, actions and masks that leave something allowed (all of it, when
/// `masked` is false).
struct ActionBatch {
  std::vector<float> outputs, log_deviations, d_log_prob, d_entropy;
  std::vector<std::int32_t> actions;
  std::vector<std::uint8_t> mask;

  ActionBatch(const ActionLayout& layout, int rows, bool masked, std::uint64_t seed) {
    Random random(seed);
    const auto normals = [&](std::size_t count, double scale) {
      std::vector<float> x(count);
      for (float& value : x) value = static_cast<float>(scale * random.Normal());
      return x;
    };
    const std::size_t n = static_cast<std::size_t>(rows);
    outputs = normals(n * layout.outputs(), 1.5);
    log_deviations = normals(layout.free_deviations(), 0.7);
    d_log_prob = normals(n, 1);
    d_entropy = normals(n, 1);
    mask.assign(n * layout.mask_bytes(), 1);
    actions.resize(n * layout.words());
    for (int row = 0; row < rows; ++row) {
      for (const ActionPart& part : layout.parts()) Fill(layout, part, row, masked, random);
    }
  }

  void Fill(const ActionLayout& layout, const ActionPart& part, int row, bool masked,
            Random& random) {
    std::uint8_t* m = mask.data() + row * layout.mask_bytes() + part.first_mask_byte;
    std::int32_t* word = actions.data() + row * layout.words() + part.first_word;
    for (int i = 0; i < part.count; ++i, ++word) {
      if (part.kind == ActionPart::Kind::kContinuous) {
        *word = std::bit_cast<std::int32_t>(static_cast<float>(random.Normal()));
      } else if (part.kind == ActionPart::Kind::kBinary) {
        *word = static_cast<std::int32_t>(random.UniformInt(2));
      } else {
        *word = static_cast<std::int32_t>(random.UniformInt(part.choices[i]));
        for (int j = 0; j < part.choices[i] && masked; ++j)
          m[j] = j == *word || random.UniformInt(2) == 0;
        m += part.choices[i];
      }
    }
  }
};

/// Layouts of every kind, odd sizes among them.
inline std::vector<ActionLayout> ManyLayouts() {
  const Space everything = Dict({{"move", Discrete(5)},
                                 {"turn", Box({3}, -1, 2)},
                                 {"buttons", MultiBinary(2)},
                                 {"weapon", MultiDiscrete({2, 17})}});
  return {ActionLayout(Discrete(2)),
          ActionLayout(Discrete(37)),
          ActionLayout(MultiDiscrete({3, 2, 4})),
          ActionLayout(MultiBinary(5)),
          ActionLayout(Box({3})),
          ActionLayout(Box({2}), {.state_dependent_deviation = true}),
          ActionLayout(Box({1}, -1, 1), {.squashed = true}),
          ActionLayout(everything),
          ActionLayout(everything, {.scaled = true}),
          ActionLayout(everything, {.state_dependent_deviation = true, .squashed = true})};
}

}  // namespace murmurate
