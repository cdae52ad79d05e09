#include "shared/model/text.h"

#include <charconv>

namespace murmurate {
namespace {

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

std::vector<std::string_view> SplitLines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.empty()) return {};
  return Split(text, '\n');
}

std::vector<std::string_view> SplitWords(std::string_view line) { return Split(line, ' '); }

std::optional<std::uint64_t> ParseCount(std::string_view word, std::uint64_t limit) {
  if (word.empty() || (word.size() > 1 && word[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value > limit) {
    return std::nullopt;
  }
  return value;
}

std::string Quote(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  std::string quoted = "\"";
  for (const char c : text.substr(0, kLongest)) quoted += (c >= ' ' && c <= '~') ? c : '?';
  return quoted + (text.size() > kLongest ? "...\"" : "\"");
}

std::string ShapeText(const std::vector<int>& shape) {
  std::string text = "[";
  for (const int size : shape) {
    if (text.size() > 1) text += ',';
    text += std::to_string(size);
  }
  return text + "]";
}

}  // namespace murmurate
