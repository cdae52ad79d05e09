// A policy as an ONNX file for Unity's ML-Agents (unity_graph.h).
#pragma once

#include <string>

#include "murmurate/status.h"
#include "shared/model/weights_file.h"

namespace murmurate {

/// kInvalidArgument: the policy reads its previous action or reward, or has switches, for which
/// ML-Agents has no tensors.
Result<std::string> FormatUnity(const WeightsFile& file);

}  // namespace murmurate
