// A small checkpoint whose numbers tell which step it is.
#pragma once

#include "server/operate/checkpoint.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

inline Checkpoint SampleCheckpoint(std::uint64_t steps, int units = 3) {
  Checkpoint checkpoint;
  WeightsFile& file = checkpoint.weights;
  file.spec =
      PolicyAndValue{.spaces = {Box({2}), Discrete(2)}, .trunk = {{units, Activation::kTanh}}};
  file.version = steps / 10;
  file.steps = steps;
  file.parameters = AlignedFloats(ParameterLayout(file.spec).total);
  file.parameters[0] = static_cast<float>(steps);
  const float moments[] = {0.25f, static_cast<float>(steps)};
  const std::uint64_t words[] = {steps, 0xfedcba9876543210};
  const double doubles[] = {0.1};
  StateWriter writer(&checkpoint.state, "learner");
  writer.Floats("moments", moments);
  writer.Words("random", words);
  writer.Doubles("mean", doubles);
  return checkpoint;
}

}  // namespace murmurate
