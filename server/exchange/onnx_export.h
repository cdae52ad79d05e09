// A model as an ONNX file: what a player feeds and gets is said by onnx_inputs.h, onnx_action.h and
// onnx_layers.h (recurrent states). The metadata have the model's text (murmurate.spec), its spaces
// (murmurate.spaces), and the version and steps of its weights.
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/weights_file.h"

namespace murmurate {

/// The policy, and `networks` besides: each has an output of its name, [batch, its outputs], and
/// states with that name and a dot before them. kInvalidArgument: a name that the model lacks or
/// that is a target's, or a model without a policy.
Result<std::string> FormatOnnx(const WeightsFile& file, const std::vector<std::string>& networks);

}  // namespace murmurate
