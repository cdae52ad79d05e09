#include "murmurate/action.h"

#include <algorithm>

#include "client/misuse.h"

namespace murmurate {

Action::Action(int choice) : parts_{{{}, false, 0, 1}}, choices_{choice} {}

Action::Action(const Space& space) {
  const Status status = CheckSpaces({Box({1}), space});
  MURMURATE_EXPECT(status.ok(), "Action(space)", status.message());
  for (int i = 0; i < space.leaf_count(); ++i) {
    const Space& leaf = space.leaf(i);
    const bool continuous = leaf.kind == Space::Kind::kBox;
    const std::size_t count = static_cast<std::size_t>(leaf.element_count());
    parts_.push_back(
        {space.leaf_name(i), continuous, continuous ? numbers_.size() : choices_.size(), count});
    if (!continuous) {
      choices_.resize(choices_.size() + count);
      continue;
    }
    for (std::size_t k = 0; k < count; ++k) {
      numbers_.push_back(leaf.low.empty() ? 0.0f : std::clamp(0.0f, leaf.low[k], leaf.high[k]));
    }
  }
}

const Action::Part& Action::Find(std::string_view name, bool continuous) const {
  for (const Part& part : parts_) {
    if (part.name == name && part.continuous == continuous) return part;
  }
  const std::string message = "this Action has no part \"" + std::string(name) + "\" of " +
                              (continuous ? "numbers" : "choices") +
                              " (a Dict's parts are asked for by name, and Act fills them)";
  FailMisuse(continuous ? "Action::numbers" : "Action::choices", message);
}

int Action::choice(std::string_view part) const {
  const Part& found = Find(part, false);
  MURMURATE_EXPECT(found.count == 1, "Action::choice",
                   "choice of a part with several variables: use choices");
  return choices_[found.first];
}

float Action::number(std::string_view part) const {
  const Part& found = Find(part, true);
  MURMURATE_EXPECT(found.count == 1, "Action::number",
                   "number of a part with several numbers: use numbers");
  return numbers_[found.first];
}

std::span<const std::int32_t> Action::choices(std::string_view part) const {
  const Part& found = Find(part, false);
  return std::span(choices_).subspan(found.first, found.count);
}

std::span<const float> Action::numbers(std::string_view part) const {
  const Part& found = Find(part, true);
  return std::span(numbers_).subspan(found.first, found.count);
}

std::span<std::int32_t> Action::choices(std::string_view part) {
  const Part& found = Find(part, false);
  return std::span(choices_).subspan(found.first, found.count);
}

std::span<float> Action::numbers(std::string_view part) {
  const Part& found = Find(part, true);
  return std::span(numbers_).subspan(found.first, found.count);
}

}  // namespace murmurate
