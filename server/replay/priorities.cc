#include "server/replay/priorities.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

/// What a sum of floats can still tell from nothing, and what it can bear.
constexpr float kLeast = 1e-20f, kMost = 1e20f;

}  // namespace

Priorities::Priorities(const ReplaySettings& settings, BlockCursor& block)
    : exponent_(static_cast<float>(settings.priority_exponent)),
      importance_(static_cast<float>(settings.importance_exponent)),
      floor_(static_cast<float>(settings.priority_floor)),
      own_(block.Next<float>(settings.capacity)),
      drawn_(settings.capacity, block) {}

void Priorities::Set(std::size_t place, float error) {
  if (!std::isfinite(error)) return;
  Restore(place, std::clamp(std::pow(std::abs(error) + floor_, exponent_), kLeast, kMost));
  largest_ = std::max(largest_, own_[place]);
}

void Priorities::Restore(std::size_t place, float own) {
  own_[place] = own;
  if (drawn_.Get(place) > 0.0f) drawn_.Set(place, own);
}

/// N and the sum of all P are the same for all weights: (N P)^-beta over the largest of them is
/// (least P / P)^beta.
double Priorities::Draw(Random* random, std::span<std::size_t> places, std::span<float> weights) {
  const double part = drawn_.total() / static_cast<double>(places.size());
  masses_.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    masses_[i] = part * (static_cast<double>(i) + random->UniformDouble());
  drawn_.Find(masses_, places);
  for (std::size_t i = 0; i < places.size(); ++i) weights[i] = drawn_.Get(places[i]);
  const float least = *std::ranges::min_element(weights);
  for (float& weight : weights) weight = std::pow(least / weight, importance_);
  return double{least} / drawn_.total();
}

}  // namespace murmurate
