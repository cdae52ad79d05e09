// Display: what a run shows while it goes: a table redrawn in place on a terminal, one line an
// interval elsewhere, nothing when quiet. Messages of other threads go above the table, so neither
// tears the other. Any thread may call any function.
#pragma once

#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/experience/step_count.h"
#include "server/operate/checkpoint_writer.h"

namespace murmurate {

/// A stream's way to its broker, and how good its forecasts are.
struct StreamProgress {
  std::string name;
  bool up = false;
  double down_s = 0;
  std::uint64_t messages = 0, devices = 0, learned = 0;
  double messages_per_s = 0;
  std::optional<double> error = {}, baseline_error = {}, skill = {};  ///< none before it is scored
};

struct ProgressView {
  std::string run;
  std::uint64_t steps = 0;              ///< taken
  std::uint64_t learned_steps = 0;      ///< of them
  std::optional<std::uint64_t> budget;  ///< of steps learned from
  std::optional<double> mean_return, target;
  std::optional<double> evaluation;  ///< mean return without exploration
  std::optional<double> success_rate;
  /// Numbers of the game and settings for it, by name; the first few are shown.
  std::vector<std::pair<std::string, double>> reports, settings;
  /// Of what learns labels: loss, error and accuracy, by name; shown where no return is known.
  std::vector<std::pair<std::string, double>> scores = {};
  std::uint64_t episodes = 0, updates = 0, version = 0, dropped_steps = 0;
  double steps_per_second = 0, staleness = 0, elapsed_s = 0;
  std::optional<double> eta_s;  ///< until the budget is spent, at the present rate
  int actors = 0, agents = 0;
  std::vector<StreamProgress> streams = {};
  bool only_streams = false;  ///< nobody plays: there are no returns and no episodes
  CheckpointHealth checkpoints;
  std::string waiting;  ///< who waits for whom, when somebody does
};

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

  void Show(const ProgressView& view);
  /// A whole line to `to` (stdout or stderr), above the table.
  void Print(const std::string& line, std::FILE* to);

  /// Leaves the table where it stands: later messages go below it.
  void Release();

  /// The table's lines, each of the same width; the lines form.
  static std::vector<std::string> TableLines(const ProgressView& view);
  static std::string OneLine(const ProgressView& view);

 private:
  void Erase();
  void Redraw();

  const Mode mode_;
  std::FILE* const out_;
  std::mutex mutex_;
  std::vector<std::string> table_;  ///< as last shown
  bool drawn_ = false;
};

std::string WithCommas(std::uint64_t number);      ///< 1234567 -> "1,234,567"
std::string StepsInWords(const StepCount& steps);  ///< "1,000 steps (900 learned from)"
std::string ReturnText(double mean);               ///< "431.2"; below 10 "0.958"
std::string ShortDuration(double seconds);         ///< "0.4 s", "12 s", "3 min 20 s", "2 h 5 min"

}  // namespace murmurate
