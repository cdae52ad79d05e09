#include "shared/model/spaces_text.h"

#include <charconv>
#include <optional>
#include <span>

#include "shared/core/check.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::string_view kObservationForms =
    "float32 SIZE..., uint8 SIZE..., categories N... or binary N";
constexpr std::string_view kActionForms =
    "discrete N..., binary N or continuous SIZE... (with low NUMBER... high NUMBER... or without)";

/// The shortest text that reads back as the same float.
std::string NumberText(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value == 0 ? 0.0f : value).ptr;
  return std::string(text, end);
}

std::optional<float> ParseNumber(std::string_view word) {
  float value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  if (NumberText(value) != word) return std::nullopt;
  return value;
}

template <typename T>
std::string ListText(std::string text, const std::vector<T>& values) {
  for (const T value : values) {
    text += ' ';
    if constexpr (std::is_same_v<T, float>) {
      text += NumberText(value);
    } else {
      text += std::to_string(value);
    }
  }
  return text;
}

bool ParseCounts(Words words, std::vector<int>* counts) {
  for (const std::string_view word : words) {
    const auto count = ParseCount(word, kMaxSeenBytes);
    if (!count) return false;
    counts->push_back(static_cast<int>(*count));
  }
  return !counts->empty();
}

bool ParseNumbers(Words words, std::vector<float>* numbers) {
  for (const std::string_view word : words) {
    const auto number = ParseNumber(word);
    if (!number) return false;
    numbers->push_back(*number);
  }
  return true;
}

std::optional<Space> ParseContinuous(Words words) {
  std::size_t sizes = 0;
  while (sizes < words.size() && words[sizes] != "low") ++sizes;
  Space space = Box({});
  if (!ParseCounts(words.first(sizes), &space.shape)) return std::nullopt;
  const Words bounds = words.subspan(sizes);
  if (bounds.empty()) return space;
  const std::size_t half = bounds.size() / 2;
  if (bounds.size() % 2 != 0 || half < 2 || bounds[half] != "high") return std::nullopt;
  if (!ParseNumbers(bounds.subspan(1, half - 1), &space.low)) return std::nullopt;
  if (!ParseNumbers(bounds.subspan(half + 1), &space.high)) return std::nullopt;
  return space;
}

std::optional<Space> ParseLeaf(Side side, std::string_view form, Words words) {
  const bool action = side == Side::kAction;
  if (action && form == "continuous") return ParseContinuous(words);
  std::vector<int> counts;
  if (!ParseCounts(words, &counts)) return std::nullopt;
  if (form == "binary" && counts.size() == 1) return MultiBinary(counts[0]);
  if (form == (action ? "discrete" : "categories")) return MultiDiscrete(std::move(counts));
  if (!action && form == "float32") return Box(std::move(counts));
  if (!action && form == "uint8") return Image(std::move(counts));
  return std::nullopt;
}

Status BadLine(Side side, std::string_view line) {
  const std::string place = LeafPath(side, "");
  return InvalidData("the spaces have the line " + Quote(line) + " where \"" + place + "\" or \"" +
                     place + ".NAME\" and " +
                     std::string(side == Side::kAction ? kActionForms : kObservationForms) +
                     " was expected: correct the peer or the file");
}

/// Adds a line to its side: a plain line is the whole space, named ones are leaves of a kDict.
Status ParseLine(Side side, std::string_view line, Space* space) {
  const std::vector<std::string_view> words = SplitWords(line);
  const std::string place = LeafPath(side, "");
  if (words.size() < 3 || !words[0].starts_with(place)) return BadLine(side, line);
  const std::optional<Space> leaf = ParseLeaf(side, words[1], Words(words).subspan(2));
  if (!leaf) return BadLine(side, line);
  const std::string_view name = words[0].substr(place.size());
  if (name.empty()) {
    if (space->kind != Space::Kind::kNone) return BadLine(side, line);
    *space = *leaf;
    return Status();
  }
  const bool first = space->kind == Space::Kind::kNone;
  if (name[0] != '.' || !(first || space->kind == Space::Kind::kDict)) return BadLine(side, line);
  space->kind = Space::Kind::kDict;
  space->names.emplace_back(name.substr(1));
  space->leaves.push_back(*leaf);
  return Status();
}

std::string SideText(Side side, const Space& space) {
  std::string text;
  for (int i = 0; i < space.leaf_count(); ++i) {
    text += LeafPath(side, space.leaf_name(i)) + " " + LeafText(side, space.leaf(i)) + "\n";
  }
  return text;
}

}  // namespace

std::string LeafPath(Side side, std::string_view name) {
  std::string place = side == Side::kAction       ? "action"
                      : side == Side::kPrivileged ? "privileged"
                                                  : "observation";
  return name.empty() ? place : place.append(".").append(name);
}

std::string LeafText(Side side, const Space& leaf) {
  const bool action = side == Side::kAction;
  const char* const choices = action ? "discrete" : "categories";
  switch (leaf.kind) {
    case Space::Kind::kNone:
      return "none";
    case Space::Kind::kDict:
      return "dict";
    case Space::Kind::kDiscrete:
      return std::string(choices) + " " + std::to_string(leaf.n);
    case Space::Kind::kMultiDiscrete:
      return ListText(choices, leaf.choices);
    case Space::Kind::kMultiBinary:
      return "binary " + std::to_string(leaf.n);
    case Space::Kind::kBox:
      break;
  }
  const bool bytes = leaf.element == Space::Element::kUint8;
  std::string text = ListText(bytes ? "uint8" : action ? "continuous" : "float32", leaf.shape);
  if (leaf.low.empty() && leaf.high.empty()) return text;
  return ListText(ListText(text + " low", leaf.low) + " high", leaf.high);
}

std::string Spaces::ToText() const {
  const std::string text =
      SideText(Side::kObservation, observation) + SideText(Side::kAction, action);
  return privileged.kind == Space::Kind::kNone ? text
                                               : text + SideText(Side::kPrivileged, privileged);
}

Result<Spaces> Spaces::Parse(std::string_view text) {
  if (text.size() > kMaxSpacesText) {
    return InvalidData("the spaces take " + std::to_string(text.size()) +
                       " bytes where at most 4096 were expected: correct the peer or the file");
  }
  Spaces spaces;
  Space* const spaces_in_order[] = {&spaces.observation, &spaces.action, &spaces.privileged};
  std::size_t at = 0;
  for (const std::string_view line : SplitLines(text)) {
    constexpr Side kSides[] = {Side::kObservation, Side::kAction, Side::kPrivileged};
    while (at < 2 && line.starts_with(LeafPath(kSides[at + 1], ""))) ++at;
    MURMURATE_RETURN_IF_ERROR(ParseLine(kSides[at], line, spaces_in_order[at]));
  }
  const Status checked = CheckSpaces(spaces);
  if (!checked.ok()) return InvalidData(checked.message());
  return spaces;
}

}  // namespace murmurate
