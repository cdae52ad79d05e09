// A canvas as lines of text for a terminal: each cell is an upper half block, whose colour and
// background are two pixels one above the other. Pixels are the means of what lies under them.
#pragma once

#include <string>
#include <vector>

#include "server/pictures/canvas.h"

namespace murmurate {

enum class ColorDepth : std::uint8_t {
  kNone,     ///< no colours: a pixel is lit where it is far from the background
  kPalette,  ///< the 216 colours of terminals with 256
  kTrue,     ///< 24 bits
};

/// What a terminal of these variables (null: not set) can show: NO_COLOR, COLORTERM, TERM.
ColorDepth DepthOf(const char* no_color, const char* color_term, const char* term);

/// At most `columns` x `rows` cells, as many as the canvas's shape fills; UTF-8, each line with its
/// own escape sequences. `columns` and `rows` are at least 1.
std::vector<std::string> TextPicture(const Canvas& canvas, int columns, int rows, ColorDepth depth);

}  // namespace murmurate
