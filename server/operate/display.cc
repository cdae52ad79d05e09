#include "server/operate/display.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace murmurate {

Display::Mode Display::Suitable(std::FILE* out) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return isatty(fileno(out)) && !dumb ? Mode::kTable : Mode::kLines;
}

std::int64_t Display::interval_ns(double log_interval_s) const {
  const double seconds = mode_ == Mode::kTable ? 0.2 : std::max(1.0, log_interval_s);
  return static_cast<std::int64_t>(seconds * 1e9);
}

void Display::Show(const ScreenView& view) {
  std::lock_guard lock(mutex_);
  if (mode_ == Mode::kQuiet) return;
  if (mode_ == Mode::kLines) {
    std::fprintf(out_, "%s\n", OneLine(view).c_str());
    std::fflush(out_);
    return;
  }
  Erase();
  table_ = TableLines(view);
  Redraw();
}

void Display::Print(const std::string& line, std::FILE* to) {
  std::lock_guard lock(mutex_);
  Erase();
  std::fprintf(to, "%s\n", line.c_str());
  std::fflush(to);
  Redraw();
}

void Display::Release() {
  std::lock_guard lock(mutex_);
  table_.clear();
  drawn_ = false;
}

void Display::Erase() {
  if (drawn_) std::fprintf(out_, "\x1b[%zuA\x1b[J", table_.size());
  std::fflush(out_);
  drawn_ = false;
}

void Display::Redraw() {
  if (table_.empty()) return;
  for (const std::string& line : table_) std::fprintf(out_, "%s\n", line.c_str());
  std::fflush(out_);
  drawn_ = true;
}

}  // namespace murmurate
