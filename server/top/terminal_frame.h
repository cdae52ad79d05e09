// TerminalFrame: a picture of text as what a terminal is sent, and as plain text.
#pragma once

#include <string>
#include <vector>

#include "server/top/top_line.h"

namespace murmurate {

/// Control sequences (ECMA-48, and xterm's private modes) that draw `picture` over what is there,
/// from the upper left corner, and clear the rest of a terminal of `size`: each line after its new
/// text, so that no line is empty in between. The picture is no larger than `size`. `colour`: styles
/// have colours; without, only bold and faint.
std::string TerminalFrame(const std::vector<TopLine>& picture, TopSize size, bool colour);

/// A line each, with no control sequence and no space at its end.
std::string PlainText(const std::vector<TopLine>& picture);

// What a terminal is sent before the first frame and after the last: another screen than the one
// with the user's lines, no cursor, no line breaks of its own.
inline constexpr char kEnterScreen[] = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
inline constexpr char kLeaveScreen[] = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

}  // namespace murmurate
