#include "shared/model/observation_layout.h"

#include <cmath>
#include <cstring>

#include "shared/core/check.h"
#include "shared/model/spaces_text.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

ObservationInput MakeInput(const std::string& name, const Space& leaf) {
  ObservationInput input;
  input.name = name;
  input.elements = leaf.element_count();
  if (leaf.kind == Space::Kind::kBox) {
    input.element = leaf.element == Space::Element::kUint8 ? Element::kUint8 : Element::kFloat32;
    input.shape = leaf.shape;
    return input;
  }
  input.element = Element::kInt32;
  input.shape = {input.elements};
  if (leaf.kind == Space::Kind::kDiscrete) input.categories = {leaf.n};
  if (leaf.kind == Space::Kind::kMultiDiscrete) input.categories = leaf.choices;
  if (leaf.kind == Space::Kind::kMultiBinary) input.categories.assign(leaf.n, 2);
  return input;
}

template <typename T>
T ReadWord(const std::byte* row, std::size_t offset) {
  T word;
  std::memcpy(&word, row + offset, sizeof(word));
  return word;
}

Status Wrong(const ObservationInput& input, int i, const std::string& what) {
  return InvalidData(LeafPath(Side::kObservation, input.name) + " has " + what + " at place " +
                     std::to_string(i) + ": correct the game");
}

Status CheckInput(const ObservationInput& input, const std::byte* row) {
  if (input.element == Element::kUint8) return Status();
  for (int i = 0; i < input.elements; ++i) {
    const std::size_t offset = input.offset_bytes + 4 * static_cast<std::size_t>(i);
    if (input.element == Element::kFloat32) {
      if (std::isfinite(ReadWord<float>(row, offset))) continue;
      return Wrong(input, i, "a number that is not finite");
    }
    const auto category = ReadWord<std::int32_t>(row, offset);
    if (category >= 0 && category < input.categories[i]) continue;
    return Wrong(input, i,
                 "the category " + std::to_string(category) + " where 0 to " +
                     std::to_string(input.categories[i] - 1) + " was expected");
  }
  return Status();
}

}  // namespace

int ObservationInput::encoded_count() const {
  if (element != Element::kInt32) return elements;
  int count = 0;
  for (const int n : categories) count += n;
  return count;
}

ObservationLayout::ObservationLayout(const Space& observation) {
  for (int i = 0; i < observation.leaf_count(); ++i) {
    inputs_.push_back(MakeInput(observation.leaf_name(i), observation.leaf(i)));
  }
  for (const bool bytes : {false, true}) {
    for (ObservationInput& input : inputs_) {
      if ((input.element == Element::kUint8) != bytes) continue;
      input.offset_bytes = row_bytes_;
      row_bytes_ += (input.size_bytes() + 3) / 4 * 4;
    }
  }
}

bool ObservationLayout::plain() const {
  return inputs_.size() == 1 && inputs_[0].element == Element::kFloat32;
}

Status ObservationLayout::Check(const std::byte* row) const {
  for (const ObservationInput& input : inputs_) {
    MURMURATE_RETURN_IF_ERROR(CheckInput(input, row));
  }
  return Status();
}

}  // namespace murmurate
