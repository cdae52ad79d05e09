// InitialWeights: the file that a new model begins with ([model] initialize_from): partial loading
// by name and shape (shared/model/weights_match.h), with a report of what matched.
//
// It is read when a model is made for the spaces of its first actor; `train` and `check`, which
// know the spaces, and `serve`, which does not, judge it before anything starts.
#pragma once

#include <string>

#include "murmurate/status.h"
#include "shared/model/weights_match.h"

namespace murmurate {

struct InitialFile {
  std::string path;    ///< "": the model begins without one
  std::string origin;  ///< how a message names the setting: "c.toml:4: model.initialize_from"
};

struct InitialWeights {
  SafetensorsFile file;
  WeightsMatch match;
  /// "initialize_from FILE: 7 of 9 tensors (12,345 of 12,400 numbers) taken; not in the file: ...;
  /// of another shape: ...; not used: ..."
  std::string report;
};

/// One sentence that begins with the setting's origin when the file is missing or no safetensors.
Result<SafetensorsFile> ReadInitialFile(const InitialFile& from);
/// Or when it is of no use to this model.
Result<InitialWeights> ReadInitialWeights(const InitialFile& from, const ModelSpec& spec);

}  // namespace murmurate
