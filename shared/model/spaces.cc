#include "murmurate/spaces.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxTextBytes = 1024;
constexpr std::size_t kMaxDimensions = 8;
constexpr int kMaxObservation = 65536;
constexpr int kMaxChoices = 4096;
constexpr std::uint64_t kMaxElements = 1u << 24;

std::string SpaceText(const Space& space) {
  switch (space.kind) {
    case Space::Kind::kNone:
      return "none";
    case Space::Kind::kDiscrete:
      return "discrete " + std::to_string(space.n);
    case Space::Kind::kBox:
      break;
  }
  std::string text = "float32";
  for (const int size : space.shape) text.append(1, ' ').append(std::to_string(size));
  return text;
}

Status BadLine(std::string_view line, std::string_view role) {
  return InvalidData("the spaces have the line " + Quote(line) + " where \"" + std::string(role) +
                     " float32 SIZE...\" (sizes of 1 or more, at most 8) or \"" +
                     std::string(role) +
                     " discrete N\" (N of 2 or more) was expected: correct the peer or the file");
}

Result<Space> ParseLine(std::string_view line, std::string_view role) {
  const std::vector<std::string_view> words = SplitWords(line);
  if (words.size() < 3 || words[0] != role) return BadLine(line, role);
  if (words[1] == "discrete" && words.size() == 3) {
    const auto n = ParseCount(words[2], kMaxElements);
    if (!n || *n < 2) return BadLine(line, role);
    return Discrete(static_cast<int>(*n));
  }
  if (words[1] != "float32" || words.size() > 2 + kMaxDimensions) return BadLine(line, role);
  std::vector<int> shape;
  std::uint64_t elements = 1;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto size = ParseCount(words[i], kMaxElements);
    if (!size || *size == 0 || (elements *= *size) > kMaxElements) return BadLine(line, role);
    shape.push_back(static_cast<int>(*size));
  }
  return Box(std::move(shape));
}

}  // namespace

int Space::element_count() const {
  if (kind != Kind::kBox) return kind == Kind::kDiscrete ? 1 : 0;
  std::int64_t count = 1;
  for (const int size : shape) {
    count = std::min<std::int64_t>(count * size, std::numeric_limits<int>::max());
  }
  return static_cast<int>(count);
}

Space Box(std::vector<int> shape) {
  Space space;
  space.kind = Space::Kind::kBox;
  space.shape = std::move(shape);
  return space;
}

Space Discrete(int n) {
  Space space;
  space.kind = Space::Kind::kDiscrete;
  space.n = n;
  return space;
}

std::string Spaces::ToText() const {
  return "observation " + SpaceText(observation) + "\naction " + SpaceText(action) + "\n";
}

Result<Spaces> Spaces::Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return InvalidData("the spaces take " + std::to_string(text.size()) +
                       " bytes where at most 1024 were expected: correct the peer or the file");
  }
  const std::vector<std::string_view> lines = SplitLines(text);
  if (lines.size() != 2) {
    return InvalidData("the spaces have " + std::to_string(lines.size()) +
                       " lines where two were expected, \"observation ...\" and \"action ...\": "
                       "correct the peer or the file");
  }
  Result<Space> observation = ParseLine(lines[0], "observation");
  if (!observation.ok()) return observation.status();
  Result<Space> action = ParseLine(lines[1], "action");
  if (!action.ok()) return action.status();
  return Spaces{*observation, *action};
}

Status CheckSpaces(const Spaces& spaces) {
  const Space& observation = spaces.observation;
  const bool sizes_fine =
      std::all_of(observation.shape.begin(), observation.shape.end(), [](int s) { return s >= 1; });
  const int count = sizes_fine ? observation.element_count() : 0;
  if (observation.kind != Space::Kind::kBox || observation.shape.empty() ||
      observation.shape.size() > kMaxDimensions || count < 1 || count > kMaxObservation) {
    return InvalidArgument("the observation space is " + SpaceText(observation) +
                           " but this version supports float32 with 1 to 8 dimensions and 1 to "
                           "65536 numbers in all: use Box({...}) of such a shape");
  }
  const Space& action = spaces.action;
  if (action.kind != Space::Kind::kDiscrete || action.n < 2 || action.n > kMaxChoices) {
    return InvalidArgument("the action space is " + SpaceText(action) +
                           " but this version supports discrete with 2 to 4096 choices: "
                           "use Discrete(n)");
  }
  return Status();
}

std::string FirstDifference(const Spaces& expected, const Spaces& got) {
  if (expected.observation != got.observation) {
    return "observation: expected " + SpaceText(expected.observation) + ", got " +
           SpaceText(got.observation);
  }
  if (expected.action != got.action) {
    return "action: expected " + SpaceText(expected.action) + ", got " + SpaceText(got.action);
  }
  return "";
}

}  // namespace murmurate
