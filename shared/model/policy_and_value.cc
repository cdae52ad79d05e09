#include "shared/model/policy_and_value.h"

#include "shared/core/check.h"
#include "shared/model/model_lines.h"

namespace murmurate {

ModelSpec PolicyAndValue::ToSpec() const {
  ModelSpec spec{spaces, normalize_observation, continuous, {}, previous};
  NetworkSpec policy{.name = std::string(kPolicyNetwork), .published = true, .trained = true};
  policy.encoders = encoders;
  policy.trunk = trunk;
  NetworkSpec value = policy;
  value.name = kValueNetwork;
  value.published = false;
  value.outputs = 1;
  value.trunk = value_trunk.value_or(trunk);
  value.reads_privileged = separate_value && spaces.privileged.kind != Space::Kind::kNone;
  if (spaces.privileged.kind != Space::Kind::kNone)
    std::erase_if(policy.encoders,
                  [](const InputEncoder& encoder) { return IsPrivileged(encoder.input); });
  if (!separate_value) {
    value.shares = policy.name;
    value.encoders.clear();
    value.trunk.clear();
  }
  spec.networks = {std::move(policy), std::move(value)};
  return spec;
}

Result<ModelSpec> ParsePolicyAndValue(ModelLines* lines) {
  PolicyAndValue model;
  MURMURATE_RETURN_IF_ERROR(lines->ReadSpaces(&model.spaces));
  MURMURATE_RETURN_IF_ERROR(lines->ReadEncodersAndTrunk(&model.encoders, &model.trunk));
  MURMURATE_RETURN_IF_ERROR(lines->ReadFlag("separate_value", &model.separate_value));
  MURMURATE_RETURN_IF_ERROR(lines->ReadFlag("normalize_observation", &model.normalize_observation));
  MURMURATE_RETURN_IF_ERROR(lines->ReadContinuous(model.spaces.action, &model.continuous));
  return model.ToSpec();
}

std::string NewTensorName(std::string_view name) {
  constexpr std::string_view kOld = "critic.";
  if (!name.starts_with(kOld)) return std::string(name);
  return std::string(kValueNetwork) + "." + std::string(name.substr(kOld.size()));
}

}  // namespace murmurate
