#include "server/parameters/rms_prop.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {

RmsProp::RmsProp(const RmsPropSettings& settings, std::size_t count)
    : settings_(settings), square_(count) {
  std::fill(square_.begin(), square_.end(), 1.0f);
}

void RmsProp::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                   std::span<float> parameters) {
  settings_.learning_rate = learning_rate;
  ++steps_;
  RmsPropStep(settings_, gradient_scale, gradient, square_, parameters);
}

void RmsProp::Save(const StateWriter& writer) const {
  writer.Floats("square", square_);
  writer.Words("steps", std::span(&steps_, 1));
}

Status RmsProp::Load(const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(reader.Floats("square", square_));
  return reader.Words("steps", std::span(&steps_, 1));
}

}  // namespace murmurate
