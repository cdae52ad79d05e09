#include "client/c_abi/step_arguments.h"

namespace murmurate::c_abi {
namespace {

mmr_status FailInput(const mmr_input& input, const std::string& text) {
  return Fail("mmr_input \"" + std::string(input.name == nullptr ? "" : input.name) +
              "\": " + text);
}

template <typename T>
void Add(const mmr_input& input, Observation* out) {
  const std::string_view name = input.name == nullptr ? std::string_view() : input.name;
  out->Add({name, std::span(static_cast<const T*>(input.values), input.count)});
}

mmr_status AddInput(const mmr_input& input, Observation* out) {
  if (input.values == nullptr) return FailInput(input, "values is NULL");
  switch (input.element) {
    case MMR_FLOAT32:
      Add<float>(input, out);
      return MMR_OK;
    case MMR_UINT8:
      Add<std::uint8_t>(input, out);
      return MMR_OK;
    case MMR_INT32:
      Add<std::int32_t>(input, out);
      return MMR_OK;
  }
  return FailInput(input, "element is " + std::to_string(input.element) +
                              ": use MMR_FLOAT32, MMR_UINT8 or MMR_INT32");
}

}  // namespace

mmr_status RefuseObservation(const AgentCore& core, const float* observation,
                             std::uint64_t numbers) {
  if (observation == nullptr) return Fail("the observation is NULL");
  if (!core.model()->observation.plain()) {
    return Fail("this observation is not one Box of float32: use the mmr_..._any functions");
  }
  return Fail(core.observation().CheckObservation(std::span(observation, numbers)));
}

mmr_status RefuseMask(const AgentCore& core, const std::uint8_t* allowed, std::uint64_t choices) {
  if (allowed == nullptr) return Fail("allowed is NULL, but its count is not 0");
  const int bytes = core.model()->head.layout().mask_bytes();
  if (choices == 0 && bytes == 0) return MMR_OK;  // an empty array
  if (choices == 0) {
    return Fail("allowed is given and its count is 0: it has " + std::to_string(bytes) +
                " bytes; or give NULL to allow everything");
  }
  return Fail(core.observation().CheckMask(std::span(allowed, choices)));
}

mmr_status Convert(const mmr_observation* given, Observation* out) {
  if (given == nullptr) return Fail("the mmr_observation is NULL");
  mmr_observation copy;
  const mmr_observation* known = Known(given, "mmr_observation", &copy);
  if (known == nullptr) return mmr_last_status();
  if (known->inputs == nullptr || known->input_count < 1 ||
      known->input_count > Observation::kMaxParts) {
    return Fail("mmr_observation.inputs is NULL, or input_count is not 1 to 32");
  }
  for (std::uint64_t i = 0; i < known->input_count; ++i) {
    mmr_input input_copy;
    const mmr_input* input = Known(At(known->inputs, i), "mmr_input", &input_copy);
    if (input == nullptr) return mmr_last_status();
    if (const mmr_status status = AddInput(*input, out); status != MMR_OK) return status;
  }
  out->Mask({known->allowed, known->allowed_count});
  return MMR_OK;
}

mmr_status ToObservation(const AgentCore& core, const mmr_observation* given, Observation* out) {
  if (const mmr_status status = Convert(given, out); status != MMR_OK) return status;
  if (const Status fits = core.observation().CheckObservation(*out); !fits.ok()) return Fail(fits);
  return CheckMask(core, out->mask().data(), out->mask().size());
}

mmr_status ToPrivileged(const AgentCore& core, const mmr_observation* given, Observation* out) {
  if (const mmr_status status = Convert(given, out); status != MMR_OK) return status;
  if (!out->mask().empty())
    return Fail("a privileged observation has no mask: leave mmr_observation.allowed at NULL");
  const Status fits = core.observation().CheckPrivileged(*out);
  return fits.ok() ? MMR_OK : Fail(fits);
}

mmr_status Observe(AgentCore& core, const Observation& observation) {
  if (core.observation().TryObserve(observation)) [[likely]]
    return MMR_OK;
  return Fail(core.observation().CheckObservation(observation));
}

ActionCounts::ActionCounts(const ActionLayout& layout) {
  for (const ActionPart& part : layout.parts()) {
    const bool continuous = part.kind == ActionPart::Kind::kContinuous;
    (continuous ? numbers : choices) += static_cast<std::uint64_t>(part.count);
  }
}

mmr_status RefuseAction(const mmr_action& given, const ActionCounts& counts) {
  return Fail("mmr_action has room for " + std::to_string(given.choice_count) + " choices and " +
              std::to_string(given.number_count) + " numbers, but the space has " +
              std::to_string(counts.choices) + " and " + std::to_string(counts.numbers) +
              ": point choices and numbers at so many");
}

}  // namespace murmurate::c_abi
