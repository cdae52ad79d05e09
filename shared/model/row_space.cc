#include "shared/model/row_space.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "shared/model/action_layout.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr char kAction[] = "previous_action", kReward[] = "previous_reward",
               kPrivileged[] = "privileged";

using Parts = std::vector<std::pair<std::string, Space>>;

/// A category for each choice or switch, 0 being "none yet"; a number for each number.
Space PreviousOf(const ActionPart& part) {
  if (part.kind == ActionPart::Kind::kContinuous) return Box({part.count});
  std::vector<int> categories(static_cast<std::size_t>(part.count), 3);
  if (part.kind == ActionPart::Kind::kDiscrete)
    std::ranges::transform(part.choices, categories.begin(), [](int n) { return n + 1; });
  return MultiDiscrete(std::move(categories));
}

std::string Path(const char* place, const std::string& name) {
  return name.empty() ? place : place + ("." + name);
}

}  // namespace

Space RowSpace(const Spaces& spaces, PreviousInputs previous) {
  const bool privileged = spaces.privileged.kind != Space::Kind::kNone;
  if (!previous.any() && !privileged) return spaces.observation;
  Parts parts;
  for (int i = 0; i < spaces.observation.leaf_count(); ++i)
    parts.emplace_back(spaces.observation.leaf_name(i), spaces.observation.leaf(i));
  const ActionLayout action(spaces.action);
  for (const ActionPart& part : action.parts())
    if (previous.action) parts.emplace_back(Path(kAction, part.name), PreviousOf(part));
  if (previous.reward) parts.emplace_back(kReward, Box({1}));
  for (int i = 0; privileged && i < spaces.privileged.leaf_count(); ++i)
    parts.emplace_back(Path(kPrivileged, spaces.privileged.leaf_name(i)),
                       spaces.privileged.leaf(i));
  return Dict(parts);
}

Status CheckRowSpace(const Spaces& spaces, PreviousInputs previous) {
  const bool privileged = spaces.privileged.kind != Space::Kind::kNone;
  for (int i = 0; i < spaces.observation.leaf_count(); ++i) {
    const std::string name = spaces.observation.leaf_name(i);
    if ((previous.action && name == kAction) || (previous.reward && name == kReward))
      return InvalidArgument("the observation has a part " + Quote(name) +
                             " of its own: take the model's setting of that name out, or rename "
                             "the part");
    if (privileged && name == kPrivileged)
      return InvalidArgument("the observation has a part " + Quote(name) +
                             " beside the privileged observation: rename the part");
  }
  return {};
}

bool IsPrivileged(std::string_view part) {
  return part.starts_with(kPrivileged) &&
         (part.size() == sizeof kPrivileged - 1 || part[sizeof kPrivileged - 1] == '.');
}

}  // namespace murmurate
