#include "server/top/terminal_frame.h"

#include "server/top/text_columns.h"

namespace murmurate {
namespace {

/// The parameters of SGR (ECMA-48, 8.3.117); "" for plain text.
const char* RenditionOf(TopStyle style, bool colour) {
  switch (style) {
    case TopStyle::kStrong:
      return "1";
    case TopStyle::kFaint:
      return "2";
    case TopStyle::kTitle:
      return "4";
    case TopStyle::kGood:
      return colour ? "32" : "";
    case TopStyle::kWarning:
      return colour ? "33" : "1";
    case TopStyle::kBad:
      return colour ? "31" : "1";
    case TopStyle::kFirst:
      return colour ? "36" : "";
    case TopStyle::kSecond:
      return colour ? "35" : "2";
    case TopStyle::kPlain:
      break;
  }
  return "";
}

}  // namespace

std::string TerminalFrame(const std::vector<TopLine>& picture, TopSize size, bool colour) {
  std::string frame = "\x1b[?2026h\x1b[H";  // a terminal that knows 2026 shows all of it at once
  for (std::size_t row = 0; row < static_cast<std::size_t>(size.rows); ++row) {
    if (row > 0) frame += "\r\n";
    int used = 0;
    for (const TopPiece& piece : row < picture.size() ? picture[row] : TopLine()) {
      used += ColumnsOf(piece.text);
      const std::string rendition = RenditionOf(piece.style, colour);
      frame += rendition.empty() ? piece.text : "\x1b[" + rendition + 'm' + piece.text + "\x1b[0m";
    }
    // Behind the last column the cursor stands on it, and would clear it.
    if (used < size.columns) frame += "\x1b[K";
  }
  return frame + "\x1b[?2026l";
}

std::string PlainText(const std::vector<TopLine>& picture) {
  std::string text;
  for (const TopLine& line : picture) {
    std::string all;
    for (const TopPiece& piece : line) all += piece.text;
    all.erase(all.find_last_not_of(' ') + 1);
    text += all + '\n';
  }
  return text;
}

}  // namespace murmurate
