// The letters of Canvas::Text: capitals, digits and a few signs, of 5 x 7 squares.
#pragma once

#include <string_view>

namespace murmurate {

inline constexpr int kLetterWidth = 5, kLetterHeight = 7;

/// Its squares, row after row: '#' where it is inked, else ' '. Small letters are shown as capitals,
/// and what the font lacks as a space.
std::string_view SquaresOf(char letter);

}  // namespace murmurate
