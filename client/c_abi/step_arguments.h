// Reads the arguments that a C program passes at every step: checks them against the agent's space
// before anything changes, and converts them to the C++ client's.
#pragma once

#include "client/agent_core.h"
#include "client/c_abi/structs.h"

namespace murmurate::c_abi {

inline constexpr const char* kNotOneChoice =
    "this action is not one choice: use mmr_act_any or mmr_act_continuous (of a group: "
    "mmr_group_act_any)";

inline constexpr const char* kStillWaits =
    "it would wait longer than mmr_client_options.max_wait_ms allows: call again";

mmr_status RefuseObservation(const AgentCore& core, const float* observation,
                             std::uint64_t numbers);
/// Checks and converts what mmr_privileged_any is given; nothing has changed then.
mmr_status ToPrivileged(const AgentCore& core, const mmr_observation* given, Observation* out);
mmr_status RefuseMask(const AgentCore& core, const std::uint8_t* allowed, std::uint64_t choices);

inline mmr_status CheckObservation(const AgentCore& core, const float* observation,
                                   std::uint64_t numbers) {
  if (observation != nullptr && core.observation().Fits(std::span(observation, numbers))) [[likely]]
    return MMR_OK;
  return RefuseObservation(core, observation, numbers);
}

inline mmr_status CheckMask(const AgentCore& core, const std::uint8_t* allowed,
                            std::uint64_t choices) {
  if (core.observation().Fits(std::span(allowed, choices)) &&
      (allowed == nullptr) == (choices == 0)) [[likely]]
    return MMR_OK;
  return RefuseMask(core, allowed, choices);
}

/// Views of the caller's memory, for as long as that is there.
mmr_status Convert(const mmr_observation* given, Observation* out);
/// Converts it and checks that it suits the agent's space, as Observe and SetMask need it. The
/// agent observes nothing yet.
mmr_status ToObservation(const AgentCore& core, const mmr_observation* given, Observation* out);
/// Lets the agent observe it; when it does not suit the space, nothing changes.
mmr_status Observe(AgentCore& core, const Observation& observation);

/// ActionCounts are the sizes of an mmr_action of a space.
struct ActionCounts {
  explicit ActionCounts(const ActionLayout& layout);
  std::uint64_t choices = 0, numbers = 0;
};
mmr_status RefuseAction(const mmr_action& given, const ActionCounts& counts);

/// Reads an action whose buffers are there, and of the space's counts.
inline mmr_status ReadAction(const mmr_action* given, const ActionCounts& counts, mmr_action* out) {
  if (given == nullptr) return Fail("the mmr_action is NULL");
  if (const mmr_status status = Read(given, "mmr_action", out); status != MMR_OK) return status;
  if (out->choice_count == counts.choices && out->number_count == counts.numbers &&
      (counts.choices == 0 || out->choices != nullptr) &&
      (counts.numbers == 0 || out->numbers != nullptr)) [[likely]]
    return MMR_OK;
  return RefuseAction(*out, counts);
}

}  // namespace murmurate::c_abi
