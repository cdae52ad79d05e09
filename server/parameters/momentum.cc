#include "server/parameters/momentum.h"

#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {

void Momentum::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                    std::span<float> parameters) {
  ++steps_;
  MomentumStep({learning_rate, gradient_scale, 1 - learning_rate * settings_.weight_decay},
               gradient, velocity_, parameters);
}

void Momentum::LookAhead(std::span<float> parameters) {
  MomentumLookAhead(settings_.delta, velocity_, parameters);
}

void Momentum::Save(const StateWriter& writer) const {
  writer.Floats("velocity", velocity_);
  writer.Words("steps", std::span(&steps_, 1));
}

Status Momentum::Load(const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(reader.Floats("velocity", velocity_));
  return reader.Words("steps", std::span(&steps_, 1));
}

}  // namespace murmurate
