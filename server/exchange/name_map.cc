#include "server/exchange/name_map.h"

#include <algorithm>
#include <optional>

#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::size_t kMostBytes = 65536;

Status Wrong(std::size_t line, const std::string& what) {
  return InvalidData("line " + std::to_string(line) + ": " + what);
}

void SkipSpaces(std::string_view* text) {
  text->remove_prefix(std::min(text->find_first_not_of(" \t\r"), text->size()));
}

/// A word in quotes from the front of `text`.
std::optional<std::string> TakeQuoted(std::string_view* text) {
  SkipSpaces(text);
  if (!text->starts_with('"')) return std::nullopt;
  const std::size_t end = text->find('"', 1);
  if (end == std::string_view::npos || end == 1) return std::nullopt;
  std::string word(text->substr(1, end - 1));
  text->remove_prefix(end + 1);
  return word;
}

bool TakeEqualSign(std::string_view* text) {
  SkipSpaces(text);
  if (!text->starts_with('=')) return false;
  text->remove_prefix(1);
  return true;
}

bool IsOver(std::string_view text) {
  SkipSpaces(&text);
  return text.empty() || text.starts_with('#');
}

bool Fits(const NameMap::Line& line, std::string_view name) {
  return name == line.ours ||
         (name.starts_with(line.ours) && name.substr(line.ours.size()).starts_with('.'));
}

}  // namespace

Result<NameMap> NameMap::Parse(std::string_view text) {
  if (text.size() > kMostBytes)
    return InvalidData("it has more than 65536 bytes; a line for each layer is enough");
  NameMap map;
  std::size_t number = 0;
  for (std::string_view rest : SplitLines(text)) {
    ++number;
    if (IsOver(rest)) continue;
    const std::string whole(rest);
    const auto ours = TakeQuoted(&rest);
    const bool equal = ours && TakeEqualSign(&rest);
    const auto theirs = equal ? TakeQuoted(&rest) : std::nullopt;
    if (!theirs || !IsOver(rest))
      return Wrong(number, Quote(whole) +
                               " where a line such as \"policy.0\" = \"actor.fc1\" was "
                               "expected; correct it");
    if (std::ranges::count(map.lines_, *ours, &Line::ours) > 0)
      return Wrong(number, Quote(*ours) + " stands here a second time; take one of both out");
    map.lines_.push_back({*ours, *theirs, number});
  }
  return map;
}

const NameMap::Line* NameMap::Find(std::string_view ours) const {
  const Line* best = nullptr;
  for (const Line& line : lines_)
    if (Fits(line, ours) && (best == nullptr || line.ours.size() > best->ours.size())) best = &line;
  return best;
}

std::string NameMap::TheirName(std::string_view ours) const {
  const Line* const line = Find(ours);
  if (line == nullptr) return std::string(ours);
  return line->theirs + std::string(ours.substr(line->ours.size()));
}

}  // namespace murmurate
