#include "client/agent_observation.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "client/misuse.h"
#include "shared/model/spaces_text.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;
static_assert(int{static_cast<int>(Element::kFloat32)} ==
                  static_cast<int>(ObservationPart::Element::kFloat32) &&
              static_cast<int>(Element::kUint8) ==
                  static_cast<int>(ObservationPart::Element::kUint8) &&
              static_cast<int>(Element::kInt32) ==
                  static_cast<int>(ObservationPart::Element::kInt32));

constexpr std::size_t kNotPlain = ~std::size_t{0};

const char* WordFor(Element element) {
  switch (element) {
    case Element::kFloat32:
      return "float";
    case Element::kUint8:
      return "uint8";
    case Element::kInt32:
      return "int32";
  }
  return "";
}

/// The game's program shows parts that its own space does not have, or not all of them.
Status PartFault(const ObservationInput& input, const ObservationPart* part,
                 std::span<const ObservationPart> parts) {
  std::string got = "only";
  if (part != nullptr) {
    got = std::to_string(part->count()) + " " + WordFor(static_cast<Element>(part->element()));
  } else {
    for (const ObservationPart& other : parts) got += " \"" + std::string(other.name()) + "\"";
  }
  return InvalidArgument(LeafPath(Side::kObservation, input.name) + " has " +
                         std::to_string(input.elements) + " " + WordFor(input.element) +
                         " in its space, but was shown " + got);
}

Status UnknownPartFault(std::span<const ObservationPart> parts,
                        const std::vector<ObservationInput>& inputs) {
  for (const ObservationPart& part : parts) {
    const std::string name(part.name());
    const auto known = std::ranges::find(inputs, name, &ObservationInput::name);
    if (known == inputs.end()) {
      return InvalidArgument("the observation's space has no part \"" + name + "\"");
    }
  }
  return InvalidArgument("the observation was shown a part twice");
}

/// Parts usually come in the order of the space.
const ObservationPart* FindPart(std::span<const ObservationPart> parts, std::size_t likely,
                                std::string_view name) {
  if (likely < parts.size() && parts[likely].name() == name) return &parts[likely];
  const auto found = std::ranges::find(parts, name, &ObservationPart::name);
  return found == parts.end() ? nullptr : &*found;
}

bool IsOf(const ObservationPart* part, const ObservationInput& input) {
  return part != nullptr && static_cast<Element>(part->element()) == input.element &&
         part->count() == static_cast<std::size_t>(input.elements);
}

bool GoodInput(const ObservationInput& input, const std::byte* row) {
  const std::byte* at = row + input.offset_bytes;
  const std::size_t count = static_cast<std::size_t>(input.elements);
  if (input.element == Element::kUint8) return true;
  if (input.element == Element::kFloat32) {
    return AllFinite({reinterpret_cast<const float*>(at), count});
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t category;
    std::memcpy(&category, at + i * sizeof category, sizeof category);
    if (category < 0 || category >= input.categories[i]) return false;
  }
  return true;
}

std::size_t NumbersOfPlain(const ObservationLayout& layout) {
  return layout.plain() ? layout.row_bytes() / sizeof(float) : kNotPlain;
}

}  // namespace

AgentObservation::AgentObservation(AgentShared& shared)
    : shared_(shared),
      model_(*shared.model()),
      numbers_(NumbersOfPlain(model_.observation)),
      joined_row_(model_.observation.row_bytes() / sizeof(float)),
      mask_copy_(static_cast<std::size_t>(model_.head.layout().mask_bytes())) {}

void AgentObservation::Observe(std::span<const float> observation, const char* call) {
  if (!Fits(observation)) [[unlikely]]
    FailMisuse(call, CheckObservation(observation).message());
  row_ = RowsOf(observation);
  mask_ = {};
  good_ = AllFinite(observation);
  if (!good_) [[unlikely]]
    ClearObservation();
}

void AgentObservation::Observe(const Observation& observation, const char* call) {
  if (!TryObserve(observation)) FailMisuse(call, CheckObservation(observation).message());
}

bool AgentObservation::TryObserve(const Observation& observation) {
  const std::span<const ObservationPart> parts = observation.parts();
  const std::vector<ObservationInput>& inputs = model_.observation.inputs();
  std::byte* row = reinterpret_cast<std::byte*>(joined_row_.data());
  bool good = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ObservationInput& input = inputs[i];
    const ObservationPart* part = FindPart(parts, i, input.name);
    if (!IsOf(part, input)) return false;
    std::memcpy(row + input.offset_bytes, part->data(), input.size_bytes());
    good = good && GoodInput(input, row);
  }
  if (parts.size() != inputs.size()) return false;
  row_ = std::as_bytes(std::span<const float>(joined_row_));
  mask_ = {};
  good_ = good;
  if (!good) ClearObservation();
  return true;
}

Status AgentObservation::CheckObservation(std::span<const float> observation) const {
  if (Fits(observation)) return Status();
  if (numbers_ == kNotPlain) {
    return InvalidArgument("this observation is not one Box of floats: give Act an Observation");
  }
  return InvalidArgument("an observation of " + std::to_string(observation.size()) +
                         " numbers, but the space has " + std::to_string(numbers_));
}

Status AgentObservation::CheckObservation(const Observation& observation) const {
  const std::span<const ObservationPart> parts = observation.parts();
  const std::vector<ObservationInput>& inputs = model_.observation.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ObservationPart* part = FindPart(parts, i, inputs[i].name);
    if (!IsOf(part, inputs[i])) return PartFault(inputs[i], part, parts);
  }
  return parts.size() == inputs.size() ? Status() : UnknownPartFault(parts, inputs);
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

void AgentObservation::ClearObservation() {
  if (!shared_.troubles().noted(Trouble::kObservation)) {
    shared_.Complain(Trouble::kObservation, AgentTroubles::FindIn(model_.observation, row_.data()));
  }
  std::ranges::fill(joined_row_, 0.0f);
  row_ = std::as_bytes(std::span<const float>(joined_row_));
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
  good_ = false;
}

}  // namespace murmurate
