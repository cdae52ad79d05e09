#include "server/learn/squashed_numbers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "shared/core/check.h"
#include "shared/inference/action_head.h"

namespace murmurate {

bool SquashedNumbers::Fits(const ActionLayout& layout) {
  const ContinuousSettings& settings = layout.settings();
  return settings.squashed && settings.state_dependent_deviation &&
         std::ranges::all_of(layout.parts(), [](const ActionPart& part) {
           return part.kind == ActionPart::Kind::kContinuous;
         });
}

SquashedNumbers::SquashedNumbers(const ActionLayout& layout, int max_rows)
    : outputs_(static_cast<std::size_t>(layout.outputs())) {
  MURMURATE_CHECK(Fits(layout), "squashed numbers");
  for (const ActionPart& part : layout.parts())
    for (int i = 0; i < part.count; ++i)
      numbers_.push_back({part.first_output + i, part.first_output + part.count + i});
  const auto rows = static_cast<std::size_t>(max_rows);
  for (AlignedFloats* block : {&action_, &spread_, &free_}) *block = AlignedFloats(rows * count());
  log_prob_.resize(rows);
}

void SquashedNumbers::Draw(const float* outputs, int rows, Random& random) {
  constexpr float kHalfLogTwoPi = 0.918938533f;
  rows_ = rows;
  std::size_t at = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    const float* const of = outputs + row * outputs_;
    double sum = 0.0;
    for (const Number& number : numbers_) {
      const float raw = of[number.log_deviation];
      const float log_deviation = std::clamp(raw, kMinLogDeviation, kMaxLogDeviation);
      const auto noise = static_cast<float>(random.Normal());
      const float spread = std::exp(log_deviation) * noise, u = of[number.mean] + spread;
      action_[at] = std::tanh(u);
      spread_[at] = spread;
      free_[at] = raw == log_deviation ? 1.0f : 0.0f;
      const float two = -2.0f * u;  // log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u))
      const float softplus = std::max(two, 0.0f) + std::log1p(std::exp(-std::abs(two)));
      sum += double{-0.5f * noise * noise - log_deviation - kHalfLogTwoPi} -
             2.0 * double{std::numbers::ln2_v<float> - u - softplus};
      ++at;
    }
    log_prob_[row] = sum;
  }
}

/// With a = tanh(u): da/du = 1 - a^2, and d log_prob/du = 2 a; a log deviation moves u by
/// deviation * noise, and log_prob by -1 itself.
void SquashedNumbers::Gradient(const float* d_actions, float d_log_prob, float* d_outputs) const {
  std::size_t at = 0;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row) {
    float* const to = d_outputs + row * outputs_;
    for (const Number& number : numbers_) {
      const float a = action_[at];
      const float d_u = d_actions[at] * (1.0f - a * a) + d_log_prob * 2.0f * a;
      to[number.mean] = d_u;
      to[number.log_deviation] = free_[at] * (d_u * spread_[at] - d_log_prob);
      ++at;
    }
  }
}

void SquashedNumbers::Encode(const std::int32_t* recorded, int rows, float* actions) const {
  const std::size_t numbers = count() * static_cast<std::size_t>(rows);
  for (std::size_t i = 0; i < numbers; ++i)
    actions[i] = std::tanh(std::bit_cast<float>(recorded[i]));
}

}  // namespace murmurate
