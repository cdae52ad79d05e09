#include "client/agent_observation.h"

#include <algorithm>
#include <string>

#include "client/misuse.h"

namespace murmurate {

AgentObservation::AgentObservation(AgentShared& shared)
    : shared_(shared),
      model_(*shared.model()),
      seen_(model_.observation, Side::kObservation, shared),
      mask_copy_(static_cast<std::size_t>(model_.head.layout().mask_bytes())) {
  if (model_.privileged) privileged_.emplace(*model_.privileged, Side::kPrivileged, shared);
}

void AgentObservation::Observe(std::span<const float> observation, const char* call) {
  if (!Fits(observation)) [[unlikely]]
    FailMisuse(call, CheckObservation(observation).message());
  seen_.Show(observation);
  mask_ = {};
  mask_good_ = true;
}

void AgentObservation::Observe(const Observation& observation, const char* call) {
  if (!TryObserve(observation)) FailMisuse(call, CheckObservation(observation).message());
}

bool AgentObservation::TryObserve(const Observation& observation) {
  if (!seen_.TryShow(observation)) return false;
  mask_ = {};
  mask_good_ = true;
  return true;
}

bool AgentObservation::TryObservePrivileged(const Observation& observation) {
  return privileged_ && privileged_->TryShow(observation);
}

Status AgentObservation::CheckPrivileged(const Observation& observation) const {
  if (privileged_) return privileged_->Check(observation);
  return InvalidArgument(
      "this agent has no privileged observation: state its space in AgentOptions::privileged");
}

Status AgentObservation::CheckObservation(std::span<const float> observation) const {
  if (Fits(observation)) return Status();
  if (seen_.numbers() == ObservationRow::kNotPlain) {
    return InvalidArgument("this observation is not one Box of floats: give Act an Observation");
  }
  return InvalidArgument("an observation of " + std::to_string(observation.size()) +
                         " numbers, but the space has " + std::to_string(seen_.numbers()));
}

Status AgentObservation::CheckMask(std::span<const std::uint8_t> mask) const {
  if (Fits(mask)) return Status();
  if (mask_copy_.empty()) {
    return InvalidArgument(
        "a mask, but the action is continuous and only discrete choices can be forbidden; call Act "
        "without one");
  }
  return InvalidArgument("a mask of " + std::to_string(mask.size()) +
                         " bytes, but the action has " + std::to_string(mask_copy_.size()) +
                         " discrete choices");
}

void AgentObservation::SetMask(std::span<const std::uint8_t> mask, const char* call) {
  if (mask.empty()) return;
  if (!Fits(mask)) FailMisuse(call, CheckMask(mask).message());
  std::ranges::copy(mask, mask_copy_.begin());
  mask_ = mask_copy_;
  const ActionLayout& layout = model_.head.layout();
  if (layout.AllowsSomething(mask_copy_.data())) return;
  shared_.Complain(Trouble::kMask, AgentTroubles::FindIn(layout, mask_copy_.data()));
  mask_ = {};
  mask_good_ = false;
}

}  // namespace murmurate
