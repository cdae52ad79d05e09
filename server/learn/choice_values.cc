#include "server/learn/choice_values.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {

bool ChoiceValues::HasChoicesOnly(const ActionLayout& layout) {
  return std::ranges::all_of(layout.parts(), [](const ActionPart& part) {
    return part.kind == ActionPart::Kind::kDiscrete;
  });
}

ChoiceValues::ChoiceValues(const ActionLayout& layout) {
  MURMURATE_CHECK(HasChoicesOnly(layout), "an action of choices");
  int first = 0;
  for (const ActionPart& part : layout.parts()) {
    for (const int choices : part.choices) {
      variables_.push_back({first, choices});
      first += choices;
    }
  }
  MURMURATE_CHECK(first == layout.outputs() && first == layout.mask_bytes(),
                  "an output and a byte of the mask for each choice");
}

double ChoiceValues::ValueOfBest(const float* by, const float* values, const std::uint8_t* mask,
                                 std::size_t stride) const {
  double sum = 0.0;
  for (const Variable& variable : variables_) {
    int best = -1;
    for (int i = variable.first; i < variable.first + variable.choices; ++i)
      if ((mask == nullptr || mask[i] != 0) && (best < 0 || by[i] > by[best])) best = i;
    MURMURATE_CHECK(best >= 0, "a mask leaves every variable a choice");
    sum += double{values[static_cast<std::size_t>(best) * stride]};
  }
  return sum / variables();
}

}  // namespace murmurate
