// The models that the bundled examples train.
#pragma once

#include <string>
#include <vector>

#include "shared/model/model_spec.h"

namespace murmurate {

struct ExampleModel {
  std::string name;  ///< of an example that has it
  ModelSpec spec;
};
/// Those that a device can train, of games and of files that the examples make, each once.
std::vector<ExampleModel> ModelsOfExamples();
/// That of examples/sensors.
ModelSpec ModelOfSensors();
/// The two encoders of pictures, at sizes that they are made for, and one of large color pictures.
std::vector<ExampleModel> ModelsOfPictures();

}  // namespace murmurate
