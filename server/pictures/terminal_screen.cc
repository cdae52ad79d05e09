#include "server/pictures/terminal_screen.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace murmurate {
namespace {

constexpr char kEnter[] = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr char kLeave[] = "\x1b[0m\x1b[?25h\x1b[?1049l";
constexpr int kUsualColumns = 80, kUsualRows = 24;
constexpr int kMostColumns = 320, kMostRows = 120;  ///< as many as a picture has pixels

winsize SizeOfTerminal() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    size.ws_col = kUsualColumns;
    size.ws_row = kUsualRows;
  }
  return size;
}

/// At most `count` letters of UTF-8, none of them cut.
std::string FirstLetters(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && count-- == 0) break;
  }
  return text.substr(0, end);
}

}  // namespace

bool TerminalScreen::Suitable() {
  const char* term = std::getenv("TERM");
  const pid_t foreground = tcgetpgrp(STDIN_FILENO);  // -1: it stops no process
  return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term != nullptr &&
         std::strcmp(term, "dumb") != 0 && (foreground < 0 || foreground == getpgrp());
}

TerminalScreen::TerminalScreen(std::string title)
    : title_(std::move(title)),
      depth_(DepthOf(std::getenv("NO_COLOR"), std::getenv("COLORTERM"), std::getenv("TERM"))) {
  tcgetattr(STDIN_FILENO, &before_);
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  (void)Write(kEnter);
}

TerminalScreen::~TerminalScreen() {
  (void)Write(kLeave);
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

Status TerminalScreen::Write(const std::string& text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const ssize_t written = write(STDOUT_FILENO, text.data() + at, text.size() - at);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      return Unavailable(std::string("the terminal has gone: ") + std::strerror(errno) +
                         "; play again in another one");
    at += static_cast<std::size_t>(written);
  }
  return {};
}

Status TerminalScreen::Add(const GameFrame& frame) {
  const winsize size = SizeOfTerminal();
  std::string text;
  if (size.ws_col != columns_ || size.ws_row != rows_) {
    columns_ = size.ws_col, rows_ = size.ws_row;
    shown_.clear();
    text = "\x1b[0m\x1b[2J";
  }
  const auto width = static_cast<std::size_t>(columns_);
  std::vector<std::string> lines = TextPicture(frame.picture, std::min(columns_, kMostColumns),
                                               std::clamp(rows_ - 2, 1, kMostRows), depth_);
  if (rows_ > 1) lines.insert(lines.begin(), FirstLetters(title_, width));
  if (rows_ > 2) lines.push_back(FirstLetters(frame.caption + "  q: end", width));
  shown_.resize(lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] == shown_[i]) continue;
    text += "\x1b[" + std::to_string(i + 1) + ";1H\x1b[K" + lines[i];
  }
  shown_ = std::move(lines);
  return Write(text);
}

Result<char> TerminalScreen::Key(int timeout_ms) {
  pollfd wait{STDIN_FILENO, POLLIN, 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return '\0';
  char key = 0;
  if (read(STDIN_FILENO, &key, 1) != 1)
    return Unavailable("the terminal has gone; play again in another one");
  return key;
}

}  // namespace murmurate
