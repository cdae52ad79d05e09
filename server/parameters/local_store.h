// LocalStore: where the parameters of a single learner are stepped: clip by global norm, then Adam.
//
// One learner, one thread, no other writer. The gradient covers policy and critic together, so the
// clip does too: g <- g * min(1, max_grad_norm / ||g||), as torch.nn.utils.clip_grad_norm_ does it.
#pragma once

#include <cstdint>
#include <span>

#include "server/parameters/adam.h"

namespace murmurate {

class LocalStore {
 public:
  /// `max_grad_norm` 0: never clip.
  LocalStore(std::size_t count, const AdamSettings& settings, double max_grad_norm);

  /// Applies `gradient` to `parameters` at `learning_rate`; returns the norm it had before
  /// clipping. A gradient whose norm is not finite is left out (the norm says so): one absurd
  /// reward must not turn the model into NaN for good. Allocates nothing.
  double Step(double learning_rate, std::span<const float> gradient, std::span<float> parameters);

  void Save(const StateWriter& writer) const { adam_.Save(writer); }
  Status Load(const StateReader& reader) { return adam_.Load(reader); }

  std::uint64_t updates() const { return adam_.steps(); }
  const Adam& optimizer() const { return adam_; }

 private:
  Adam adam_;
  AdamSettings settings_;
  const double max_grad_norm_;
};

}  // namespace murmurate
