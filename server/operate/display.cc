#include "server/operate/display.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>

namespace murmurate {
namespace {

constexpr std::size_t kNameWidth = 14, kValueWidth = 30;
constexpr std::size_t kMostShown = 4;

std::string Format(const char* format, double value) {
  char text[48];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Row(const std::string& name, const std::string& value) {
  const std::string shown = value.substr(value.size() - std::min(value.size(), kValueWidth));
  return "| " + name + std::string(kNameWidth - std::min(kNameWidth, name.size()), ' ') + " | " +
         std::string(kValueWidth - shown.size(), ' ') + shown + " |";
}

std::string Border() {
  return '+' + std::string(kNameWidth + 2, '-') + '+' + std::string(kValueWidth + 2, '-') + '+';
}

/// `text` in lines no wider than the table, broken between words.
std::vector<std::string> Wrapped(const std::string& text) {
  std::vector<std::string> lines(1);
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (lines.back().size() + word.size() >= Border().size()) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word.substr(0, Border().size());
  }
  return lines;
}

std::string Learned(const ProgressView& view) {
  if (!view.budget) return WithCommas(view.learned_steps);
  return WithCommas(view.learned_steps) + " of " + WithCommas(*view.budget);
}

std::string Return(const ProgressView& view) {
  if (!view.mean_return) return "-";
  std::string text = ReturnText(*view.mean_return);
  if (view.target) text += " of " + Format("%g", *view.target);
  return text;
}

std::string CheckpointStep(const CheckpointHealth& health) {
  return health.last_step ? "step " + WithCommas(*health.last_step) : "-";
}

using Numbers = std::vector<std::pair<std::string, double>>;

std::span<const Numbers::value_type> FirstOf(const Numbers& numbers) {
  return std::span(numbers).first(std::min(numbers.size(), kMostShown));
}

std::string Rate(double steps_per_second) {
  return steps_per_second >= 1e4 ? Format("%.0f k", steps_per_second / 1e3)
                                 : Format("%.0f", steps_per_second);
}

/// "connected, 1,200 messages", "down for 12 s"
std::string Connection(const StreamProgress& stream) {
  if (!stream.up) return "down for " + ShortDuration(stream.down_s);
  return "connected, " + WithCommas(stream.messages) + " messages";
}

/// "0.412, naive 0.730", "-"
std::string Errors(const StreamProgress& stream) {
  if (!stream.error || !stream.baseline_error) return "-";
  return Format("%.3f", *stream.error) + ", naive " + Format("%.3f", *stream.baseline_error);
}

std::string Skill(const StreamProgress& stream) {
  return stream.skill ? Format("%.3f", *stream.skill) : "-";
}

std::vector<std::string> StreamRows(const ProgressView& view) {
  std::vector<std::string> lines;
  for (const StreamProgress& stream : view.streams) {
    lines.push_back(Row(stream.name.substr(0, kNameWidth), Connection(stream)));
    if (!view.only_streams) continue;
    lines.push_back(Row("  error", Errors(stream)));
    lines.push_back(Row("  skill", Skill(stream)));
    lines.push_back(Row("  messages/s", Rate(stream.messages_per_s)));
    lines.push_back(Row("  devices", WithCommas(stream.devices)));
    lines.push_back(Row("  rows learned", WithCommas(stream.learned)));
  }
  return lines;
}

/// Nothing was played: what it learns are labels.
bool OnlyLabels(const ProgressView& view) { return !view.scores.empty() && !view.mean_return; }

std::vector<std::string> PlayRows(const ProgressView& view) {
  std::vector<std::string> lines{Row("steps", WithCommas(view.steps)),
                                 Row("learned from", Learned(view))};
  for (const auto& [name, value] : view.scores) lines.push_back(Row(name, Format("%.4g", value)));
  if (!OnlyLabels(view)) lines.push_back(Row("return", Return(view)));
  if (!OnlyLabels(view) || view.evaluation)
    lines.push_back(Row("evaluation", view.evaluation ? ReturnText(*view.evaluation) : "-"));
  if (view.success_rate) lines.push_back(Row("success", Format("%.2f", *view.success_rate)));
  for (const auto& [name, mean] : FirstOf(view.reports))
    lines.push_back(Row(name.substr(0, kNameWidth), ReturnText(mean)));
  for (const auto& [name, value] : FirstOf(view.settings))
    lines.push_back(Row(name.substr(0, kNameWidth), Format("set to %g", value)));
  return lines;
}

std::vector<std::string> LearningRows(const ProgressView& view) {
  std::vector<std::string> lines;
  if (!view.only_streams)
    lines = {Row("episodes", WithCommas(view.episodes)),
             Row("steps/s", Rate(view.steps_per_second)),
             Row("staleness", Format("%.1f versions", view.staleness))};
  lines.push_back(Row("version", WithCommas(view.version)));
  if (!view.only_streams)
    lines.push_back(Row(
        "actors", std::to_string(view.actors) + " (" + std::to_string(view.agents) + " agents)"));
  lines.push_back(Row("checkpoint", CheckpointStep(view.checkpoints)));
  lines.push_back(Row("time", ShortDuration(view.elapsed_s)));
  if (!view.only_streams)
    lines.push_back(Row("eta", view.eta_s ? "at most " + ShortDuration(*view.eta_s) : "-"));
  return lines;
}

/// "steps 1,000  learned from 900 of 10,000  return 12.0 ... staleness 0.0",
/// "steps 1,000  learned from 1,000  train/loss 0.012 ..."
std::string PlayLine(const ProgressView& view) {
  std::string line = "steps " + WithCommas(view.steps) + "  learned from " + Learned(view);
  for (const auto& [name, value] : view.scores) line += "  " + name + Format(" %.4g", value);
  if (!OnlyLabels(view)) line += "  return " + Return(view);
  if (view.evaluation) line += "  evaluation " + ReturnText(*view.evaluation);
  if (view.success_rate) line += "  success " + Format("%.2f", *view.success_rate);
  for (const auto& [name, mean] : FirstOf(view.reports))
    line += "  " + name + ' ' + ReturnText(mean);
  for (const auto& [name, value] : FirstOf(view.settings))
    line += "  " + name + Format("=%g", value);
  for (const StreamProgress& stream : view.streams)
    line += "  " + stream.name + ' ' + Connection(stream);
  return line + "  episodes " + WithCommas(view.episodes) + "  " + Rate(view.steps_per_second) +
         " steps/s  staleness " + Format("%.1f", view.staleness);
}

/// "temp connected, 1,200 messages, 10/s of 3 devices  error 0.412, naive 0.730  skill 0.436 ..."
std::string StreamsLine(const ProgressView& view) {
  std::string line;
  for (const StreamProgress& stream : view.streams)
    line += (line.empty() ? "" : "  ") + stream.name + ' ' + Connection(stream) + ", " +
            Rate(stream.messages_per_s) + "/s of " + WithCommas(stream.devices) +
            " devices  error " + Errors(stream) + "  skill " + Skill(stream) + "  rows learned " +
            WithCommas(stream.learned);
  return line;
}

}  // namespace

std::string WithCommas(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string StepsInWords(const StepCount& steps) {
  return WithCommas(steps.taken) + " steps (" + WithCommas(steps.learned) + " learned from)";
}

std::string ReturnText(double mean) { return Format(std::abs(mean) < 10 ? "%.3f" : "%.1f", mean); }

std::string ShortDuration(double seconds) {
  if (seconds < 9.95) return Format("%.1f s", seconds);
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

Display::Mode Display::Suitable(std::FILE* out) {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::strcmp(terminal, "dumb") == 0;
  return isatty(fileno(out)) && !dumb ? Mode::kTable : Mode::kLines;
}

std::int64_t Display::interval_ns(double log_interval_s) const {
  const double seconds = mode_ == Mode::kTable ? 0.2 : std::max(1.0, log_interval_s);
  return static_cast<std::int64_t>(seconds * 1e9);
}

std::vector<std::string> Display::TableLines(const ProgressView& view) {
  std::vector<std::string> lines{Border(), Row("run", view.run), Border()};
  const auto append = [&](std::vector<std::string> rows) {
    lines.insert(lines.end(), rows.begin(), rows.end());
  };
  if (!view.only_streams) append(PlayRows(view));
  append(StreamRows(view));
  append(LearningRows(view));
  lines.push_back(Border());
  if (!view.checkpoints.trouble.empty())
    for (std::string& line : Wrapped("CHECKPOINT NOT WRITTEN: " + view.checkpoints.trouble))
      lines.push_back(std::move(line));
  if (!view.checkpoints.best_trouble.empty())
    for (std::string& line : Wrapped("BEST WEIGHTS NOT KEPT: " + view.checkpoints.best_trouble))
      lines.push_back(std::move(line));
  if (!view.waiting.empty())
    for (std::string& line : Wrapped(view.waiting)) lines.push_back(std::move(line));
  return lines;
}

std::string Display::OneLine(const ProgressView& view) {
  std::string line = view.only_streams ? StreamsLine(view) : PlayLine(view);
  line += "  version " + WithCommas(view.version);
  if (!view.only_streams) line += "  actors " + std::to_string(view.actors);
  if (!view.checkpoints.trouble.empty())
    line += "  CHECKPOINT NOT WRITTEN (last good " + CheckpointStep(view.checkpoints) + ')';
  if (!view.checkpoints.best_trouble.empty()) line += "  BEST WEIGHTS NOT KEPT";
  if (view.eta_s) line += "  eta " + ShortDuration(*view.eta_s);
  if (!view.waiting.empty()) line += "  (" + view.waiting + ')';
  return line;
}

void Display::Show(const ProgressView& view) {
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
