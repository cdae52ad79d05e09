// A model as an ONNX file: what a player feeds and gets is said by onnx_inputs.h, onnx_action.h and
// onnx_layers.h (recurrent states). The metadata have the model's text (murmurate.spec), its spaces
// (murmurate.spaces), and the version and steps of its weights.
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/weights_file.h"

namespace murmurate {

/// The policy, and `networks` besides: each has an output of its name, [batch, its outputs].
/// They are of the model, and none is the policy or a target.
Result<std::string> FormatOnnx(const WeightsFile& file, const std::vector<std::string>& networks);

}  // namespace murmurate
