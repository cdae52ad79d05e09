#include "client/observation_row.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "client/client_model.h"
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

std::string PlaceOf(Side side) {
  return side == Side::kPrivileged ? "the privileged observation" : "the observation";
}

/// The game's program shows parts that its own space does not have, or not all of them.
Status PartFault(Side side, const ObservationInput& input, const ObservationPart* part,
                 std::span<const ObservationPart> parts) {
  std::string got = "only";
  if (part != nullptr) {
    got = std::to_string(part->count()) + " " + WordFor(static_cast<Element>(part->element()));
  } else {
    for (const ObservationPart& other : parts) got += " \"" + std::string(other.name()) + "\"";
  }
  return InvalidArgument(LeafPath(side, input.name) + " has " + std::to_string(input.elements) +
                         " " + WordFor(input.element) + " in its space, but was shown " + got);
}

Status UnknownPartFault(Side side, std::span<const ObservationPart> parts,
                        const std::vector<ObservationInput>& inputs) {
  for (const ObservationPart& part : parts) {
    const std::string name(part.name());
    const auto known = std::ranges::find(inputs, name, &ObservationInput::name);
    if (known == inputs.end()) {
      return InvalidArgument(PlaceOf(side) + "'s space has no part \"" + name + "\"");
    }
  }
  return InvalidArgument(PlaceOf(side) + " was shown a part twice");
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

}  // namespace

ObservationRow::ObservationRow(const ObservationLayout& layout, Side side, AgentShared& shared)
    : layout_(layout),
      side_(side),
      shared_(shared),
      numbers_(layout.plain() ? layout.row_bytes() / sizeof(float) : kNotPlain),
      joined_(layout.row_bytes() / sizeof(float)) {}

void ObservationRow::Show(std::span<const float> values) {
  row_ = RowsOf(values);
  good_ = AllFinite(values);
  if (!good_) [[unlikely]]
    Clear();
}

bool ObservationRow::TryShow(const Observation& observation) {
  const std::span<const ObservationPart> parts = observation.parts();
  const std::vector<ObservationInput>& inputs = layout_.inputs();
  std::byte* row = reinterpret_cast<std::byte*>(joined_.data());
  bool good = true;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ObservationInput& input = inputs[i];
    const ObservationPart* part = FindPart(parts, i, input.name);
    if (!IsOf(part, input)) return false;
    std::memcpy(row + input.offset_bytes, part->data(), input.size_bytes());
    good = good && GoodInput(input, row);
  }
  if (parts.size() != inputs.size()) return false;
  row_ = std::as_bytes(std::span<const float>(joined_));
  good_ = good;
  if (!good) Clear();
  return true;
}

Status ObservationRow::Check(const Observation& observation) const {
  const std::span<const ObservationPart> parts = observation.parts();
  const std::vector<ObservationInput>& inputs = layout_.inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ObservationPart* part = FindPart(parts, i, inputs[i].name);
    if (!IsOf(part, inputs[i])) return PartFault(side_, inputs[i], part, parts);
  }
  return parts.size() == inputs.size() ? Status() : UnknownPartFault(side_, parts, inputs);
}

void ObservationRow::Clear() {
  const Trouble trouble = side_ == Side::kPrivileged ? Trouble::kPrivileged : Trouble::kObservation;
  if (!shared_.troubles().noted(trouble))
    shared_.Complain(trouble, AgentTroubles::FindIn(layout_, row_.data()));
  std::ranges::fill(joined_, 0.0f);
  row_ = std::as_bytes(std::span<const float>(joined_));
}

}  // namespace murmurate
