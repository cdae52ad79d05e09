#include "murmurate/spaces.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "shared/core/check.h"
#include "shared/model/spaces_text.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

using Kind = Space::Kind;

/// A leaf's text for a message: bounds and lists can be long.
std::string Shown(Side side, const Space& leaf) {
  constexpr std::size_t kLongest = 160;
  const std::string text = LeafText(side, leaf);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

bool GoodName(const std::string& name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !name.empty() && name.size() <= 32 && std::all_of(name.begin(), name.end(), good);
}

bool GoodChoices(int n) { return n >= 2 && n <= kMaxSpaceChoices; }

std::string ChoicesFault(const std::vector<int>& choices) {
  if (choices.size() < 2) return "takes 2 or more variables: use Discrete(n) for one";
  std::int64_t total = 0;
  for (const int n : choices) {
    if (!GoodChoices(n)) return "takes 2 to 4096 choices for each variable";
    total += n;
  }
  return total <= kMaxSpaceNumbers ? "" : "takes at most 65536 choices in all";
}

std::string BoundsFault(Side side, const Space& box) {
  if (box.low.empty() && box.high.empty()) return "";
  if (side != Side::kAction) return "has bounds, which only actions have: use Box(shape)";
  const std::size_t count = static_cast<std::size_t>(box.element_count());
  if (box.low.size() != count || box.high.size() != count) {
    return "takes a low and a high for each of its " + std::to_string(count) + " numbers";
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!std::isfinite(box.low[i]) || !std::isfinite(box.high[i]) || box.low[i] >= box.high[i]) {
      return "takes finite bounds with each low below its high: use Box(shape) for no bounds";
    }
  }
  return "";
}

int MostNumbers(Side side, Space::Element element) {
  if (side == Side::kAction) return kMaxSpaceNumbers;
  return element == Space::Element::kUint8 ? kMaxSeenBytes : kMaxSeenNumbers;
}

std::string BoxFault(Side side, const Space& box) {
  const bool sizes_fine =
      std::all_of(box.shape.begin(), box.shape.end(), [](int size) { return size >= 1; });
  const int most = MostNumbers(side, box.element);
  if (!sizes_fine || box.shape.empty() || box.shape.size() > kMaxSpaceDimensions ||
      box.element_count() > most) {
    return "takes 1 to 8 dimensions of 1 or more and 1 to " + std::to_string(most) +
           " numbers in all: use such a shape";
  }
  if (side == Side::kAction && box.element == Space::Element::kUint8) {
    return "is made of bytes, which only observations are: use Box(shape) or MultiDiscrete(...)";
  }
  return BoundsFault(side, box);
}

/// "" or what is wrong, to be put after the leaf and its text.
std::string LeafFault(Side side, const Space& leaf) {
  switch (leaf.kind) {
    case Kind::kNone:
      return "must be stated: use Box, Image, Discrete, MultiDiscrete, MultiBinary or Dict";
    case Kind::kDict:
      return "is a Dict inside a Dict: name its leaves in one Dict";
    case Kind::kDiscrete:
      return GoodChoices(leaf.n) ? "" : "takes 2 to 4096 choices";
    case Kind::kMultiDiscrete:
      return ChoicesFault(leaf.choices);
    case Kind::kMultiBinary:
      return leaf.n >= 1 && leaf.n <= kMaxSpaceNumbers ? "" : "takes 1 to 65536 switches";
    case Kind::kBox:
      return BoxFault(side, leaf);
  }
  return "is of no known kind";
}

Status CheckNames(Side side, const Space& dict) {
  const std::string place = LeafPath(side, "");
  if (dict.leaves.empty() || dict.leaves.size() > std::size_t{kMaxSpaceLeaves} ||
      dict.names.size() != dict.leaves.size()) {
    return InvalidArgument("the " + place + " space has " + std::to_string(dict.leaves.size()) +
                           " leaves and " + std::to_string(dict.names.size()) +
                           " names where 1 to 32 leaves were expected, each with its name");
  }
  for (auto name = dict.names.begin(); name != dict.names.end(); ++name) {
    if (!GoodName(*name) || std::find(dict.names.begin(), name, *name) != name) {
      return InvalidArgument("a leaf of the " + place + " space is named " + Quote(*name) +
                             " where 1 to 32 of a-z, 0-9 and _ were expected, each name once: "
                             "give it another name");
    }
  }
  return Status();
}

Status CheckSide(Side side, const Space& space) {
  if (space.kind == Kind::kDict) MURMURATE_RETURN_IF_ERROR(CheckNames(side, space));
  for (int i = 0; i < space.leaf_count(); ++i) {
    const std::string fault = LeafFault(side, space.leaf(i));
    if (fault.empty()) continue;
    return InvalidArgument("the space " + LeafPath(side, space.leaf_name(i)) + " is " +
                           Shown(side, space.leaf(i)) + " but it " + fault);
  }
  return Status();
}

/// The first leaf in which two spaces of one side differ.
std::string SideDifference(Side side, const Space& expected, const Space& got) {
  if (expected == got) return "";
  for (int i = 0; i < std::max(expected.leaf_count(), got.leaf_count()); ++i) {
    const Space* const one = i < expected.leaf_count() ? &expected.leaf(i) : nullptr;
    const Space* const other = i < got.leaf_count() ? &got.leaf(i) : nullptr;
    const std::string place = LeafPath(side, one ? expected.leaf_name(i) : got.leaf_name(i));
    const std::string place_got = LeafPath(side, other ? got.leaf_name(i) : "");
    if (one && other && place == place_got && *one == *other) continue;
    return place + ": expected " + (one ? Shown(side, *one) : "nothing") + ", got " +
           (other && place != place_got ? place_got + " " : "") +
           (other ? Shown(side, *other) : "nothing");
  }
  return LeafPath(side, "") + ": expected another kind of space";
}

}  // namespace

int Space::element_count() const {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  std::int64_t count = kind == Kind::kBox || kind == Kind::kDiscrete ? 1 : 0;
  if (kind == Kind::kBox) {
    for (const int size : shape) count = std::min(count * size, kMost);
  } else if (kind == Kind::kMultiDiscrete) {
    count = static_cast<std::int64_t>(choices.size());
  } else if (kind == Kind::kMultiBinary) {
    count = n;
  } else if (kind == Kind::kDict) {
    for (const Space& leaf : leaves) count = std::min(count + leaf.element_count(), kMost);
  }
  return static_cast<int>(count);
}

Space Box(std::vector<int> shape) {
  Space space;
  space.kind = Kind::kBox;
  space.shape = std::move(shape);
  return space;
}

Space Box(std::vector<int> shape, std::vector<float> low, std::vector<float> high) {
  Space space = Box(std::move(shape));
  space.low = std::move(low);
  space.high = std::move(high);
  return space;
}

Space Box(std::vector<int> shape, float low, float high) {
  Space space = Box(std::move(shape));
  const int count = std::clamp(space.element_count(), 0, kMaxSpaceNumbers);
  space.low.assign(static_cast<std::size_t>(count), low);
  space.high.assign(static_cast<std::size_t>(count), high);
  return space;
}

Space Image(std::vector<int> shape) {
  Space space = Box(std::move(shape));
  space.element = Space::Element::kUint8;
  return space;
}

Space Discrete(int n) {
  Space space;
  space.kind = Kind::kDiscrete;
  space.n = n;
  return space;
}

Space MultiDiscrete(std::vector<int> choices) {
  if (choices.size() == 1) return Discrete(choices[0]);
  Space space;
  space.kind = Kind::kMultiDiscrete;
  space.choices = std::move(choices);
  return space;
}

Space MultiBinary(int n) {
  Space space;
  space.kind = Kind::kMultiBinary;
  space.n = n;
  return space;
}

Space Dict(const std::vector<std::pair<std::string, Space>>& leaves) {
  Space space;
  space.kind = Kind::kDict;
  for (const auto& [name, leaf] : leaves) {
    space.names.push_back(name);
    space.leaves.push_back(leaf);
  }
  return space;
}

Status CheckSpaces(const Spaces& spaces) {
  MURMURATE_RETURN_IF_ERROR(CheckSide(Side::kObservation, spaces.observation));
  MURMURATE_RETURN_IF_ERROR(CheckSide(Side::kAction, spaces.action));
  if (spaces.privileged.kind != Kind::kNone)
    MURMURATE_RETURN_IF_ERROR(CheckSide(Side::kPrivileged, spaces.privileged));
  const std::size_t bytes = spaces.ToText().size();
  if (bytes <= kMaxSpacesText) return Status();
  return InvalidArgument("the spaces take " + std::to_string(bytes) +
                         " bytes of text where at most 4096 were expected: use fewer bounds, "
                         "variables or leaves");
}

std::string FirstDifference(const Spaces& expected, const Spaces& got) {
  const std::string seen =
      SideDifference(Side::kObservation, expected.observation, got.observation);
  if (!seen.empty()) return seen;
  const std::string done = SideDifference(Side::kAction, expected.action, got.action);
  if (!done.empty()) return done;
  return SideDifference(Side::kPrivileged, expected.privileged, got.privileged);
}

}  // namespace murmurate
