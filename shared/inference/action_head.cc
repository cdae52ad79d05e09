#include "shared/inference/action_head.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "shared/core/check.h"
#include "shared/inference/deterministic_numbers.h"
#include "shared/inference/portable_tanh.h"

namespace murmurate {
namespace {

using Kind = ActionPart::Kind;
using Mode = ActSettings::Mode;

constexpr float kLog2 = std::numbers::ln2_v<float>;
constexpr float kHalfLogTwoPi = 0.918938533f;
constexpr float kNothing = -0.0f;  // -0 + x is x, bit for bit
constexpr float kFarthest = 1e9f;  // in deviations: its square is still a float

/// One number of a continuous part.
struct Gaussian {
  float mean, log_deviation;
  bool squashed;

  float At(float noise) const { return mean + std::exp(log_deviation) * noise; }
  float LogProbability(float sample) const {
    const float scaled = (sample - mean) * std::exp(-log_deviation);
    const float z = std::clamp(scaled, -kFarthest, kFarthest);
    const float log_density = -0.5f * z * z - log_deviation - kHalfLogTwoPi;
    return squashed ? log_density - LogSlope(sample) : log_density;
  }
  /// log(1 - tanh(u)^2) = 2 (log 2 - u - softplus(-2 u)).
  static float LogSlope(float u) {
    u = std::abs(std::clamp(u, -1e6f, 1e6f));  // it is even
    return 2 * (kLog2 - u - std::log1p(std::exp(-2 * u)));
  }
};

/// The numbers of a continuous part. `temperature` widens the deviations: N^(1/T) has the variance
/// T sigma^2.
struct Gaussians {
  Gaussians(const ActionLayout& layout, const ActionPart& part, const ActionHead::Row& row,
            float temperature)
      : means(row.outputs + part.first_output),
        log_deviations(part.first_deviation < 0 ? means + part.count
                                                : row.log_deviations + part.first_deviation),
        widening(0.5f * std::log(temperature)),
        squashed(layout.squashes_samples()) {}
  Gaussian operator[](int i) const {
    return {means[i], std::clamp(log_deviations[i], kMinLogDeviation, kMaxLogDeviation) + widening,
            squashed};
  }
  const float *const means, *const log_deviations;
  const float widening;
  const bool squashed;
};

const std::uint8_t* MaskOf(const ActionPart& part, const std::uint8_t* mask) {
  return mask == nullptr ? nullptr : mask + part.first_mask_byte;
}

float ChooseDiscrete(const ActionPart& part, const ActionHead::Row& row,
                     const ActSettings& settings, Random& random, std::int32_t* action) {
  const float* logits = row.outputs + part.first_output;
  const std::uint8_t* mask = MaskOf(part, row.mask);
  float log_prob = kNothing;
  for (int i = 0; i < part.count; ++i) {
    const std::size_t n = static_cast<std::size_t>(part.choices[i]);
    const ActionChoice choice = ChooseAllowed({logits, n}, mask, settings, random);
    action[i] = choice.action;
    log_prob += choice.log_prob;
    logits += n;
    if (mask != nullptr) mask += n;
  }
  return log_prob;
}

/// A switch is a choice between the logits 0 and l.
float ChooseBinary(const ActionPart& part, const ActionHead::Row& row, const ActSettings& settings,
                   Random& random, std::int32_t* action) {
  float log_prob = kNothing;
  for (int i = 0; i < part.count; ++i) {
    const float logits[] = {0, row.outputs[part.first_output + i]};
    const ActionChoice choice = ChooseAction(logits, settings, random);
    action[i] = choice.action;
    log_prob += choice.log_prob;
  }
  return log_prob;
}

/// `draw(gaussian, i)`: the sample of number i.
template <typename Draw>
float ChooseGaussians(const Gaussians& gaussians, int count, const Draw& draw,
                      std::int32_t* action) {
  float log_prob = kNothing;
  for (int i = 0; i < count; ++i) {
    const Gaussian gaussian = gaussians[i];
    const float sample = draw(gaussian, i);
    action[i] = std::bit_cast<std::int32_t>(sample);
    log_prob += gaussian.LogProbability(sample);
  }
  return log_prob;
}

float ChooseContinuous(const ActionLayout& layout, const ActionPart& part,
                       const ActionHead::Row& row, const ActSettings& settings, Random& random,
                       PinkNoise* pink, std::int32_t* action) {
  MURMURATE_CHECK(settings.mode != Mode::kEpsilon, "epsilon is for choices, not for numbers");
  if (layout.settings().deterministic)
    return ChooseDeterministic(part, layout.settings().squashed, row.outputs + part.first_output,
                               settings, random, pink, action);
  MURMURATE_CHECK(settings.mode != Mode::kGaussian, "sigma is for deterministic policies");
  const Gaussians gaussians(layout, part, row, settings.temperature);
  const auto choose = [&](const auto& draw) {
    return ChooseGaussians(gaussians, part.count, draw, action);
  };
  if (settings.mode != Mode::kSample) return choose([](const Gaussian& g, int) { return g.mean; });
  if (settings.noise == ActSettings::Noise::kWhite)
    return choose(
        [&](const Gaussian& g, int) { return g.At(static_cast<float>(random.Normal())); });
  MURMURATE_CHECK(pink != nullptr, "pink noise comes from a generator of the agent's own");
  const std::span<const float> noise = pink->Next(part.first_word, part.count, random);
  return choose([&](const Gaussian& g, int i) { return g.At(noise[static_cast<std::size_t>(i)]); });
}

/// SampleRange holds the samples that ToGame puts within the bounds.
struct SampleRange {
  float low, high;
};

SampleRange RangeOf(const ActionPart& part, int i) {
  if (part.scales.empty()) return {part.low[i], part.high[i]};
  return {part.scales[i].ToSample(part.low[i]), part.scales[i].ToSample(part.high[i])};
}

/// Draws a sample; squashed: so that tanh(sample) is uniform in (-1, 1).
float UniformContinuous(const ActionLayout& layout, const ActionPart& part, Random& random,
                        std::int32_t* action) {
  const bool squashed = layout.squashes_samples();
  double log_prob = 0;
  for (int i = 0; i < part.count; ++i) {
    double sample;
    if (squashed) {
      sample = std::atanh(2 * (random.Uniform() + 0x1p-25) - 1);
      log_prob -= std::numbers::ln2;
    } else if (part.low.empty()) {
      sample = random.Normal();
      log_prob -= 0.5 * sample * sample + kHalfLogTwoPi;
    } else {
      const SampleRange range = RangeOf(part, i);
      const double width = double{range.high} - range.low;
      sample = range.low + width * random.Uniform();
      log_prob -= std::log(width);
    }
    action[i] = std::bit_cast<std::int32_t>(static_cast<float>(sample));
  }
  return static_cast<float>(log_prob);
}

float UniformPart(const ActionLayout& layout, const ActionPart& part, const std::uint8_t* mask,
                  Random& random, std::int32_t* action) {
  if (part.kind == Kind::kContinuous) {
    return layout.settings().deterministic ? UniformDeterministic(part, random, action)
                                           : UniformContinuous(layout, part, random, action);
  }
  const std::uint8_t* allowed = part.kind == Kind::kDiscrete ? MaskOf(part, mask) : nullptr;
  float log_prob = kNothing;
  for (int i = 0; i < part.count; ++i) {
    const int n = part.kind == Kind::kDiscrete ? part.choices[i] : 2;
    const ActionChoice choice = ChooseUniformAllowed(n, allowed, random);
    action[i] = choice.action;
    log_prob += choice.log_prob;
    if (allowed != nullptr) allowed += n;
  }
  return log_prob;
}

/// The log-probability of a sample that UniformContinuous might have drawn.
float UniformLogProbability(const ActionLayout& layout, const ActionPart& part, int i,
                            float sample) {
  if (layout.squashes_samples()) return -kLog2;
  if (part.low.empty()) return -0.5f * sample * sample - kHalfLogTwoPi;
  const SampleRange range = RangeOf(part, i);
  if (sample < range.low || sample > range.high) return kForbiddenLogProbability;
  return -std::log(range.high - range.low);
}

float NumberLogProbability(const ActionLayout& layout, const ActionPart& part,
                           const ActionHead::Row& row, const ActSettings& settings, int i,
                           float sample) {
  if (settings.mode == Mode::kUniform) return UniformLogProbability(layout, part, i, sample);
  return Gaussians(layout, part, row, settings.temperature)[i].LogProbability(sample);
}

float PartLogProbability(const ActionLayout& layout, const ActionPart& part,
                         const ActionHead::Row& row, const ActSettings& settings,
                         const std::int32_t* action) {
  const float* logits = row.outputs == nullptr ? nullptr : row.outputs + part.first_output;
  const std::uint8_t* mask = MaskOf(part, row.mask);
  if (part.kind == Kind::kContinuous && layout.settings().deterministic)
    return DeterministicLogProbability(part, layout.settings().squashed, logits, settings, action);
  float log_prob = kNothing;
  for (int i = 0; i < part.count; ++i) {
    if (part.kind == Kind::kContinuous) {
      log_prob +=
          NumberLogProbability(layout, part, row, settings, i, std::bit_cast<float>(action[i]));
      continue;
    }
    if (part.kind == Kind::kBinary) {
      const float two[] = {0, logits == nullptr ? 0 : logits[i]};
      log_prob += LogProbabilityAllowed(two, nullptr, settings, action[i]);
      continue;
    }
    const std::size_t n = static_cast<std::size_t>(part.choices[i]);
    log_prob += LogProbabilityAllowed({logits, n}, mask, settings, action[i]);
    if (logits != nullptr) logits += n;
    if (mask != nullptr) mask += n;
  }
  return log_prob;
}

float GameNumber(const ActionPart& part, int i, bool squashed, float sample) {
  if (part.low.empty()) return sample;
  const float low = part.low[i], high = part.high[i];
  if (!part.scales.empty())
    return static_cast<float>(std::clamp<double>(part.scales[i].ToGame(sample), low, high));
  if (!squashed) return std::clamp(sample, low, high);
  const double share = 0.5 * (PortableTanh(sample) + 1);
  return std::clamp(static_cast<float>(low + share * (double{high} - low)), low, high);
}

/// A sample that GameNumber gives as `number`; held off the ends, which no sample squashes to.
float SampleOf(const ActionPart& part, int i, bool squashed, float number) {
  if (part.low.empty()) return number;
  const double low = part.low[i], high = part.high[i];
  number = std::clamp(number, part.low[i], part.high[i]);
  if (!part.scales.empty())
    return std::clamp(part.scales[i].ToSample(number), -part.furthest, part.furthest);
  if (!squashed) return number;
  const double unit = 2 * (number - low) / (high - low) - 1;
  return static_cast<float>(std::atanh(std::clamp(unit, -1 + 1e-6, 1 - 1e-6)));
}

}  // namespace

ActionHead::ActionHead(ActionLayout layout) : layout_(std::move(layout)) {}

float ActionHead::Choose(const Row& row, const ActSettings& settings, Random& random,
                         std::int32_t* action, PinkNoise* pink) const {
  if (settings.mode == Mode::kUniform) return ChooseUniform(row.mask, random, action);
  float log_prob = kNothing;
  for (const ActionPart& part : layout_.parts()) {
    std::int32_t* const words = action + part.first_word;
    if (part.kind == Kind::kDiscrete) {
      log_prob += ChooseDiscrete(part, row, settings, random, words);
    } else if (part.kind == Kind::kBinary) {
      log_prob += ChooseBinary(part, row, settings, random, words);
    } else {
      log_prob += ChooseContinuous(layout_, part, row, settings, random, pink, words);
    }
  }
  return log_prob;
}

float ActionHead::ChooseUniform(const std::uint8_t* mask, Random& random,
                                std::int32_t* action) const {
  float log_prob = kNothing;
  for (const ActionPart& part : layout_.parts())
    log_prob += UniformPart(layout_, part, mask, random, action + part.first_word);
  return log_prob;
}

float ActionHead::LogProbability(const Row& row, const ActSettings& settings,
                                 const std::int32_t* action) const {
  float log_prob = kNothing;
  for (const ActionPart& part : layout_.parts())
    log_prob += PartLogProbability(layout_, part, row, settings, action + part.first_word);
  return std::max(log_prob, kForbiddenLogProbability);
}

double ActionHead::LogUnit() const {
  double sum = 0;
  for (const ActionPart& part : layout_.parts()) {
    for (const ActionScale& scale : part.scales) sum += std::log(double{scale.half_width});
    if (part.kind != Kind::kContinuous || !layout_.squashes_samples()) continue;
    for (int i = 0; i < part.count; ++i)
      sum += std::log(0.5 * (double{part.high[i]} - part.low[i]));
  }
  return sum;
}

void ActionHead::ToGame(const std::int32_t* action, std::int32_t* game) const {
  const bool squashed = layout_.squashes_samples();
  for (const ActionPart& part : layout_.parts()) {
    for (int i = 0, word = part.first_word; i < part.count; ++i, ++word) {
      game[word] = part.kind != Kind::kContinuous
                       ? action[word]
                       : std::bit_cast<std::int32_t>(
                             GameNumber(part, i, squashed, std::bit_cast<float>(action[word])));
    }
  }
}

void ActionHead::FromGame(const std::int32_t* game, const std::int32_t* chosen,
                          std::int32_t* action) const {
  const bool squashed = layout_.squashes_samples();
  for (const ActionPart& part : layout_.parts()) {
    for (int i = 0, word = part.first_word; i < part.count; ++i, ++word) {
      const float number = std::bit_cast<float>(game[word]);
      if (part.kind != Kind::kContinuous) {
        action[word] = game[word];
      } else if (chosen != nullptr &&
                 GameNumber(part, i, squashed, std::bit_cast<float>(chosen[word])) == number) {
        action[word] = chosen[word];
      } else {
        action[word] = std::bit_cast<std::int32_t>(SampleOf(part, i, squashed, number));
      }
    }
  }
}

Status CheckActSettings(const ActionLayout& layout, const ActSettings& settings) {
  const bool numbers_only = std::ranges::all_of(
      layout.parts(), [](const auto& p) { return p.kind == Kind::kContinuous; });
  if (settings.mode > Mode::kUniform || settings.noise > ActSettings::Noise::kPink)
    return InvalidData("the act settings ask for a mode that this version does not play");
  if (settings.mode == Mode::kGaussian && !(layout.settings().deterministic && numbers_only))
    return InvalidData(
        "the act settings add noise of a fixed size to the action, which is for deterministic "
        "policies whose action is numbers alone: sample the others");
  if (settings.mode == Mode::kEpsilon && layout.has_numbers())
    return InvalidData(
        "the act settings are epsilon-greedy but the action has continuous parts: "
        "sample them");
  if (!(settings.epsilon >= 0 && settings.epsilon <= 1))
    return InvalidData("the act settings have an epsilon outside 0 to 1");
  if (!(settings.sigma >= 0 && std::isfinite(settings.sigma)))
    return InvalidData("the act settings have a sigma that is not 0 or above it");
  if (!(settings.ladder_alpha >= 0 && std::isfinite(settings.ladder_alpha)))
    return InvalidData("the act settings have a ladder whose alpha is not 0 or above it");
  if (settings.temperature > 0 && std::isfinite(settings.temperature) &&
      std::isfinite(1.0f / settings.temperature)) {
    return Status();
  }
  return InvalidData("the act settings have a temperature that is not above 0");
}

}  // namespace murmurate
