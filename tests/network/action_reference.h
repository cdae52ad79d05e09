// Log-probability and entropy of an action in plain double precision, written from the definitions
// in shared/network/action_head.h: what the kernels are held against.
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

/// One row. `mask`: null, or of the whole row.
inline Likelihood ReferenceLikelihood(const ActionLayout& layout, const double* outputs,
                                      const double* log_deviations, const std::int32_t* action,
                                      const std::uint8_t* mask, double temperature = 1) {
  Likelihood total;
  const auto discrete = [&](const std::vector<double>& p, int chosen) {
    total.log_prob += std::log(p[chosen]);
    for (const double x : p) total.entropy -= x > 0 ? x * std::log(x) : 0;
  };
  for (const ActionPart& part : layout.parts()) {
    const double* x = outputs + part.first_output;
    const std::uint8_t* m = mask == nullptr ? nullptr : mask + part.first_mask_byte;
    for (int i = 0; i < part.count; ++i) {
      const std::int32_t word = action[part.first_word + i];
      if (part.kind == ActionPart::Kind::kDiscrete) {
        std::vector<double> p(part.choices[i]);
        double top = -std::numeric_limits<double>::infinity(), sum = 0;
        for (int j = 0; j < part.choices[i]; ++j)
          if (m == nullptr || m[j]) top = std::max(top, x[j]);
        for (int j = 0; j < part.choices[i]; ++j) {
          p[j] = m == nullptr || m[j] ? std::exp((x[j] - top) / temperature) : 0;
          sum += p[j];
        }
        for (double& q : p) q /= sum;
        discrete(p, word);
        x += part.choices[i];
        if (m != nullptr) m += part.choices[i];
      } else if (part.kind == ActionPart::Kind::kBinary) {
        const double p = 1 / (1 + std::exp(-x[i] / temperature));
        discrete({1 - p, p}, word);
      } else {
        const double raw =
            part.first_deviation < 0 ? x[part.count + i] : log_deviations[part.first_deviation + i];
        const double log_deviation = std::clamp(raw, -20.0, 2.0) + 0.5 * std::log(temperature);
        const double u = std::bit_cast<float>(word);
        const double z = (u - x[i]) / std::exp(log_deviation);
        total.log_prob += -0.5 * z * z - log_deviation - 0.5 * std::log(2 * std::numbers::pi);
        if (layout.settings().squashed)
          total.log_prob -=
              2 * (std::numbers::ln2 - std::abs(u) - std::log1p(std::exp(-2 * std::abs(u))));
        total.entropy += log_deviation + 0.5 * std::log(2 * std::numbers::pi * std::numbers::e);
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
          ActionLayout(everything, {.state_dependent_deviation = true, .squashed = true})};
}

}  // namespace murmurate
