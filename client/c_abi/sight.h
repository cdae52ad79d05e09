// Whether what a C program shows is what its agent's space has; asked before anything changes.
#pragma once

#include "client/agent_core.h"
#include "client/c_abi/convert.h"

namespace murmurate::c_abi {

inline constexpr const char* kNotOneChoice =
    "this action is not one choice: use mmr_act_any or mmr_act_continuous (of a group: "
    "mmr_group_act_any)";

mmr_status RefuseSight(const AgentCore& core, const float* observation, std::uint64_t numbers);
mmr_status RefuseMask(const AgentCore& core, const std::uint8_t* allowed, std::uint64_t choices);

inline mmr_status CheckSight(const AgentCore& core, const float* observation,
                             std::uint64_t numbers) {
  if (observation != nullptr && core.Fits(std::span(observation, numbers))) [[likely]]
    return MMR_OK;
  return RefuseSight(core, observation, numbers);
}

inline mmr_status CheckMask(const AgentCore& core, const std::uint8_t* allowed,
                            std::uint64_t choices) {
  if (core.Fits(std::span(allowed, choices)) && (allowed != nullptr || choices == 0)) [[likely]]
    return MMR_OK;
  return RefuseMask(core, allowed, choices);
}

/// Both of any observation; `out` views the caller's memory.
mmr_status ToSight(const AgentCore& core, const mmr_observation* given, Observation* out);

}  // namespace murmurate::c_abi
