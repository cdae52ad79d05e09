#include "server/replay/priorities.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

/// What a sum of floats can still tell from nothing, and what it can bear.
constexpr double kLeast = 1e-20, kMost = 1e20;

}  // namespace

Priorities::Priorities(const ReplaySettings& settings, BlockCursor& block)
    : exponent_(settings.priority_exponent),
      importance_(settings.importance_exponent),
      floor_(settings.priority_floor),
      own_(block.Next<float>(settings.capacity)),
      drawn_(settings.capacity, block) {}

void Priorities::Set(std::size_t place, float error) {
  if (!std::isfinite(error)) return;
  const double chance = std::pow(std::abs(double{error}) + floor_, exponent_);
  own_[place] = static_cast<float>(std::clamp(chance, kLeast, kMost));
  largest_ = std::max(largest_, own_[place]);
  if (drawn_.Get(place) > 0.0f) drawn_.Set(place, own_[place]);
}

/// N and the sum of all P are the same for all weights: (N P)^-beta over the largest of them is
/// (least P / P)^beta.
void Priorities::Draw(Random* random, std::span<std::size_t> places,
                      std::span<float> weights) const {
  const double part = drawn_.total() / static_cast<double>(places.size());
  float least = drawn_.Get(0);
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = drawn_.Find(part * (static_cast<double>(i) + random->UniformDouble()));
    const float own = own_[places[i]];
    least = i == 0 ? own : std::min(least, own);
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    weights[i] = static_cast<float>(std::pow(double{least} / double{own_[places[i]]}, importance_));
}

}  // namespace murmurate
