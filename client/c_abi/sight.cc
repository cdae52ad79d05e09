#include "client/c_abi/sight.h"

namespace murmurate::c_abi {

mmr_status RefuseSight(const AgentCore& core, const float* observation, std::uint64_t numbers) {
  if (observation == nullptr) return Fail("the observation is NULL");
  return Fail(core.CheckSight(std::span(observation, numbers)));
}

mmr_status RefuseMask(const AgentCore& core, const std::uint8_t* allowed, std::uint64_t choices) {
  if (allowed == nullptr) return Fail("allowed is NULL, but its count is not 0");
  return Fail(core.CheckMask(std::span(allowed, choices)));
}

mmr_status ToSight(const AgentCore& core, const mmr_observation* given, Observation* out) {
  if (const mmr_status status = Convert(given, out); status != MMR_OK) return status;
  if (const Status fits = core.CheckSight(*out); !fits.ok()) return Fail(fits);
  return CheckMask(core, out->mask().data(), out->mask().size());
}

}  // namespace murmurate::c_abi
