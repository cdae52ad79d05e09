// TopLine: one line of a picture of text, in pieces of one style each.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

enum class TopStyle : std::uint8_t {
  kPlain,
  kStrong,   ///< names, numbers that matter most
  kFaint,    ///< what explains
  kTitle,    ///< the heads of tables
  kGood,     ///< a state that is as it should be
  kWarning,  ///< one that may pass
  kBad,      ///< one that needs a person
  kFirst,    ///< the first curve
  kSecond,   ///< the second
};

struct TopPiece {
  std::string text;  ///< printable
  TopStyle style = TopStyle::kPlain;
};

using TopLine = std::vector<TopPiece>;

struct TopSize {
  int columns = 80, rows = 24;
};

/// What curves are drawn with.
enum class Glyphs : std::uint8_t {
  kBraille,  ///< eight dots a character (U+2800 and behind)
  kAscii,    ///< for terminals that do not show UTF-8
};

}  // namespace murmurate
