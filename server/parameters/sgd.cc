#include "server/parameters/sgd.h"

#include "server/parameters/apply.h"

namespace murmurate {

void Sgd::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
               std::span<float> parameters) {
  ++steps_;
  SgdStep({learning_rate, gradient_scale, 1 - learning_rate * settings_.weight_decay}, gradient,
          parameters);
}

bool Sgd::StepInto(float learning_rate, float gradient_scale, std::span<const float> from,
                   std::span<const float> gradient, std::span<float> to) const {
  return SgdStepInto({learning_rate, gradient_scale, 1 - learning_rate * settings_.weight_decay},
                     from, gradient, to);
}

void Sgd::Save(const StateWriter& writer) const { writer.Words("steps", std::span(&steps_, 1)); }

Status Sgd::Load(const StateReader& reader) { return reader.Words("steps", std::span(&steps_, 1)); }

}  // namespace murmurate
