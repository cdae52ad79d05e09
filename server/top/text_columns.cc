#include "server/top/text_columns.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "server/metrics/utf8.h"

namespace murmurate {
namespace {

struct Range {
  char32_t first, last;
};

/// East Asian Wide and Fullwidth of Unicode 15 (EastAsianWidth.txt), neighbours joined.
constexpr std::array<Range, 12> kWide{{{0x1100, 0x115F},
                                       {0x2E80, 0x303E},
                                       {0x3041, 0xA4CF},
                                       {0xA960, 0xA97F},
                                       {0xAC00, 0xD7A3},
                                       {0xF900, 0xFAFF},
                                       {0xFE30, 0xFE6F},
                                       {0xFF00, 0xFF60},
                                       {0xFFE0, 0xFFE6},
                                       {0x1F300, 0x1F64F},
                                       {0x1F680, 0x1FAFF},
                                       {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 4> kCombining{
    {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};
/// Controls, breaks of lines and paragraphs, and what has no width or turns the direction.
constexpr std::array<Range, 6> kUnsafe{{{0x00, 0x1F},
                                        {0x7F, 0x9F},
                                        {0x200B, 0x200F},
                                        {0x2028, 0x202E},
                                        {0x2060, 0x206F},
                                        {0xFEFF, 0xFEFF}}};

template <std::size_t size>
bool IsIn(const std::array<Range, size>& ranges, char32_t c) {
  return std::ranges::any_of(
      ranges, [c](const Range& range) { return range.first <= c && c <= range.last; });
}

/// The character that `text` begins with, which is UTF-8 of `length` bytes.
char32_t CharacterOf(std::string_view text, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  if (length == 1) return byte(0);
  char32_t c = byte(0) & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) c = (c << 6) | (byte(i) & 0x3Fu);
  return c;
}

int WidthOf(char32_t c) { return IsIn(kCombining, c) ? 0 : IsIn(kWide, c) ? 2 : 1; }

/// Calls `take(character, its bytes)` until it says false.
template <typename Take>
void EachCharacter(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, Utf8Length(text));
    if (!take(CharacterOf(text, length), text.substr(0, length))) return;
    text.remove_prefix(length);
  }
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    const bool safe = length > 0 && !IsIn(kUnsafe, CharacterOf(text, length));
    printable += safe ? text.substr(0, length) : std::string_view("?");
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return printable;
}

int ColumnsOf(std::string_view text) {
  int columns = 0;
  EachCharacter(text, [&](char32_t c, std::string_view) {
    columns += WidthOf(c);
    return true;
  });
  return columns;
}

std::string CutTo(std::string_view text, int columns) {
  if (ColumnsOf(text) <= columns) return std::string(text);
  if (columns <= 0) return "";
  std::string cut;
  int left = columns - 1;  // for the '~'
  EachCharacter(text, [&](char32_t c, std::string_view bytes) {
    left -= WidthOf(c);
    if (left >= 0) cut += bytes;
    return left >= 0;
  });
  return cut + '~';
}

std::string PadBehind(std::string_view text, int columns) {
  std::string cut = CutTo(text, columns);
  return cut.append(static_cast<std::size_t>(std::max(0, columns - ColumnsOf(cut))), ' ');
}

std::string PadBefore(std::string_view text, int columns) {
  const std::string cut = CutTo(text, columns);
  return std::string(static_cast<std::size_t>(std::max(0, columns - ColumnsOf(cut))), ' ') + cut;
}

}  // namespace murmurate
