// Display: what a run shows while it goes: a table redrawn in place on a terminal, one line an
// interval elsewhere, nothing when quiet. Messages of other threads go above the table, so neither
// tears the other. Any thread may call any function.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "server/operate/screen_text.h"

namespace murmurate {

class Display {
 public:
  enum class Mode { kTable, kLines, kQuiet };
  explicit Display(Mode mode, std::FILE* out = stdout) : mode_(mode), out_(out) {}
  /// kTable when `out` is a terminal that can move its cursor, else kLines.
  static Mode Suitable(std::FILE* out);

  Mode mode() const { return mode_; }
  /// Nanoseconds between two calls of Show that make sense: 0.2 s for a table, `log_interval_s` but
  /// at least 1 s for lines.
  std::int64_t interval_ns(double log_interval_s) const;

  void Show(const ScreenView& view);
  /// A whole line to `to` (stdout or stderr), above the table.
  void Print(const std::string& line, std::FILE* to);

  /// Leaves the table where it stands: later messages go below it.
  void Release();

 private:
  void Erase();
  void Redraw();

  const Mode mode_;
  std::FILE* const out_;
  std::mutex mutex_;
  std::vector<std::string> table_;  ///< as last shown
  bool drawn_ = false;
};

}  // namespace murmurate
