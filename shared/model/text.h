// The text forms of this room are taken apart here: strictly, one way to write each thing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace murmurate {

/// The lines of `text`; the newline after the last one may be missing.
std::vector<std::string_view> SplitLines(std::string_view text);
/// The words of `line`, parted by single spaces: two spaces make an empty word.
std::vector<std::string_view> SplitWords(std::string_view line);
/// Decimal digits without sign or leading zero, at most `limit`.
std::optional<std::uint64_t> ParseCount(std::string_view word, std::uint64_t limit);
/// `text` in quotes for a message: at most 64 bytes of it, what cannot be printed as '?'.
std::string Quote(std::string_view text);
/// "[2,3]"
std::string ShapeText(const std::vector<int>& shape);

}  // namespace murmurate
