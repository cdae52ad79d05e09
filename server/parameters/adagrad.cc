#include "server/parameters/adagrad.h"

#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {

void Adagrad::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                   std::span<float> parameters) {
  ++steps_;
  AdagradStep({learning_rate, gradient_scale, 1 - learning_rate * settings_.weight_decay},
              settings_.epsilon, gradient, sum_, parameters);
}

void Adagrad::Save(const StateWriter& writer) const {
  writer.Floats("sum", sum_);
  writer.Words("steps", std::span(&steps_, 1));
}

Status Adagrad::Load(const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(reader.Floats("sum", sum_));
  return reader.Words("steps", std::span(&steps_, 1));
}

}  // namespace murmurate
