// A model as a safetensors file for PyTorch: the tensors of TorchLayout, to be loaded into modules
// of the same names. Metadata: murmurate.layout = "pytorch", murmurate.model (the model's text),
// murmurate.version, murmurate.steps.
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/weights_file.h"

namespace murmurate {

inline constexpr char kLayoutKey[] = "murmurate.layout", kTorchLayout[] = "pytorch",
                      kTorchModelKey[] = "murmurate.model";

/// The policy, the statistics, and `networks` besides, which the model has and of which none is the
/// policy or a target.
Result<std::string> FormatTorch(const WeightsFile& file, const std::vector<std::string>& networks);

}  // namespace murmurate
