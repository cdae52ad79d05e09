// PolicyAndValue: the model of a policy and its value, which every algorithm of today learns, in a
// few fields. It is what a configuration comes to, and what the texts of "murmurate-model 1" said.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/model/model_spec.h"

namespace murmurate {

class ModelLines;

struct PolicyAndValue {
  Spaces spaces;
  std::vector<Layer> trunk;
  /// The value has layers of its own, and reads the privileged observation of spaces with one.
  bool separate_value = true;
  /// Of a separate value; unset: the same as the policy's.
  std::optional<std::vector<Layer>> value_trunk = {};
  bool normalize_observation = false;
  std::vector<InputEncoder> encoders = {};
  ContinuousSettings continuous = {};
  PreviousInputs previous = {};

  /// Two networks: "policy", published and trained, with a head for the action, and "value",
  /// trained, with a head of one number.
  ModelSpec ToSpec() const;
  operator ModelSpec() const { return ToSpec(); }
};

inline constexpr std::string_view kPolicyNetwork = "policy", kValueNetwork = "value";

/// The lines after "murmurate-model 1".
Result<ModelSpec> ParsePolicyAndValue(ModelLines* lines);

/// Weights files beside such a text call the value "critic": "critic.0.weight" is "value.0.weight".
/// Other names are as they were.
std::string NewTensorName(std::string_view name);

}  // namespace murmurate
