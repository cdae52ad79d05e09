#include "server/parameters/adam.h"

#include "shared/core/check.h"

namespace murmurate {

void Adam::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                std::span<float> parameters) {
  MURMURATE_CHECK(gradient.size() == first_.size() && parameters.size() == first_.size(),
                  "gradient and parameters must be as long as the optimizer's state");
  settings_.learning_rate = learning_rate;
  AdamStep(settings_, ++steps_, gradient_scale, gradient, first_, second_, parameters);
}

void Adam::Save(const StateWriter& writer) const {
  writer.Floats("first", first_);
  writer.Floats("second", second_);
  writer.Words("steps", std::span(&steps_, 1));
}

Status Adam::Load(const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(reader.Floats("first", first_));
  MURMURATE_RETURN_IF_ERROR(reader.Floats("second", second_));
  return reader.Words("steps", std::span(&steps_, 1));
}

}  // namespace murmurate
