#include "server/operate/screen_text.h"

#include <algorithm>
#include <sstream>

#include "server/metrics/fill_text.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/number_text.h"
#include "server/metrics/stream_metrics.h"

namespace murmurate {
namespace {

constexpr std::size_t kNameWidth = 14, kValueWidth = 30;
constexpr std::size_t kMostShown = 4;

constexpr char kLearned[] = "{learned_steps|,}[ of {budget|,}]";
constexpr char kReturn[] = "[{mean_return|return}[ of {target|%g}]]";
constexpr char kCheckpoint[] = "[step {checkpoint_step|,}]";
constexpr char kErrors[] = "[{error|%.3f}, naive {baseline_error|%.3f}]";

/// "-" in place of "".
std::string Filled(const char* pattern, const Reading& reading) {
  const std::string text = FillText(pattern, [&](std::string_view key) { return reading.At(key); });
  return text.empty() ? "-" : text;
}

/// "connected, 1,200 messages", "down for 12 s"
std::string Connection(const Reading& stream) {
  return Filled(
      stream[kStreamUp].zero() ? "down for {down_s|time}" : "connected, {messages|,} messages",
      stream);
}

/// The first few numbers of the game and settings for it, each as (name, value).
std::vector<std::pair<std::string, std::string>> Reported(const ScreenView& view,
                                                          const char* setting) {
  std::vector<std::pair<std::string, std::string>> shown;
  for (const MetricSample& sample : view.model.samples())
    if (*sample.metric == kReported && shown.size() < kMostShown)
      shown.emplace_back(sample.label, ReturnText(sample.value.number().value_or(0)));
  for (std::size_t i = 0; i < std::min(view.settings.size(), kMostShown); ++i)
    shown.emplace_back(view.settings[i].first, FormatNumber(setting, view.settings[i].second));
  return shown;
}

/// The loss, error and accuracy of a run that learns labels, as (name, value).
std::vector<std::pair<std::string, std::string>> Scores(const ScreenView& view) {
  std::vector<std::pair<std::string, std::string>> scores;
  for (const Metric* metric : ScoreMetrics())
    if (const auto number = view.model.Number(*metric))
      scores.emplace_back(metric->name, FormatNumber("%.4g", *number));
  return scores;
}

/// Nothing was played: what it learns are labels.
bool OnlyLabels(const ScreenView& view) {
  return view.model[kMeanReturn].empty() && !Scores(view).empty();
}

/// The lines of a table of two columns.
class Table {
 public:
  explicit Table(const std::string& run) : lines_{Border()} {
    Add("run", run);
    lines_.push_back(Border());
  }
  void Add(const std::string& name, const std::string& value) {
    const std::string shown = value.substr(value.size() - std::min(value.size(), kValueWidth));
    const std::string begin = name.substr(0, kNameWidth);
    lines_.push_back("| " + begin + std::string(kNameWidth - begin.size(), ' ') + " | " +
                     std::string(kValueWidth - shown.size(), ' ') + shown + " |");
  }
  void Add(const Reading& reading,
           std::initializer_list<std::pair<const char*, const char*>> patterns) {
    for (const auto& [name, pattern] : patterns) Add(name, Filled(pattern, reading));
  }
  /// Below the table, in lines no wider than it, broken between words.
  void AddSentence(const std::string& text) {
    std::istringstream words(text);
    bool first = true;
    for (std::string word; words >> word; first = false) {
      if (first || lines_.back().size() + word.size() >= Border().size()) lines_.emplace_back();
      if (!lines_.back().empty()) lines_.back() += ' ';
      lines_.back() += word.substr(0, Border().size());
    }
  }
  void End() { lines_.push_back(Border()); }
  std::vector<std::string> lines() && { return std::move(lines_); }

 private:
  static std::string Border() {
    return '+' + std::string(kNameWidth + 2, '-') + '+' + std::string(kValueWidth + 2, '-') + '+';
  }
  std::vector<std::string> lines_;
};

void AddPlay(const ScreenView& view, Table* table) {
  table->Add(view.model, {{"steps", "{steps|,}"}, {"learned from", kLearned}});
  for (const auto& [name, value] : Scores(view)) table->Add(name, value);
  if (!OnlyLabels(view)) table->Add("return", Filled(kReturn, view.model));
  if (!OnlyLabels(view) || !view.model[kEvalReturn].empty())
    table->Add(view.model, {{"evaluation", "{evaluation.mean_return|return}"}});
  if (!view.model[kSuccessRate].empty())
    table->Add(view.model, {{"success", "{success_rate|%.2f}"}});
  for (const auto& [name, value] : Reported(view, "set to %g")) table->Add(name, value);
}

void AddStreams(const ScreenView& view, Table* table) {
  for (const Reading& stream : view.streams) {
    table->Add(stream.name(), Connection(stream));
    if (view.only_streams)
      table->Add(stream, {{"  error", kErrors},
                          {"  skill", "{skill|%.3f}"},
                          {"  messages/s", "{messages_per_s|rate}"},
                          {"  devices", "{devices|,}"},
                          {"  rows learned", "{learned|,}"}});
  }
}

void AddLearning(const ScreenView& view, Table* table) {
  if (!view.only_streams)
    table->Add(view.model, {{"episodes", "{episodes|,}"},
                            {"steps/s", "{steps_per_second|rate}"},
                            {"staleness", "{staleness|%.1f} versions"}});
  table->Add(view.model, {{"version", "{version|,}"}});
  if (!view.only_streams) table->Add(view.model, {{"actors", "{actors} ({agents} agents)"}});
  table->Add(view.model, {{"checkpoint", kCheckpoint}, {"time", "{time/time_elapsed|time}"}});
  if (!view.only_streams) table->Add(view.model, {{"eta", "[at most {eta_s|time}]"}});
}

/// "steps 1,000  learned from 900 of 10,000  return 12.0 ... staleness 0.0",
/// "steps 1,000  learned from 1,000  train/loss 0.012 ..."
std::string PlayLine(const ScreenView& view) {
  const Reading& model = view.model;
  std::string line = Filled("steps {steps|,}  learned from ", model) + Filled(kLearned, model);
  for (const auto& [name, value] : Scores(view)) line += "  " + name + ' ' + value;
  if (!OnlyLabels(view)) line += "  return " + Filled(kReturn, model);
  line += FillText("[  evaluation {evaluation.mean_return|return}][  success {success_rate|%.2f}]",
                   [&](std::string_view key) { return model.At(key); });
  for (const auto& [name, value] : Reported(view, "=%g"))
    line += "  " + name + (value.starts_with('=') ? "" : " ") + value;
  for (const Reading& stream : view.streams)
    line += "  " + stream.name() + ' ' + Connection(stream);
  return line + Filled(
                    "  episodes {episodes|,}  {steps_per_second|rate} steps/s  staleness "
                    "{staleness|%.1f}",
                    model);
}

/// "temp connected, 1,200 messages, 10/s of 3 devices  error 0.412, naive 0.730  skill 0.436 ..."
std::string StreamsLine(const ScreenView& view) {
  std::string line;
  for (const Reading& stream : view.streams)
    line += (line.empty() ? "" : "  ") + stream.name() + ' ' + Connection(stream) +
            Filled(", {messages_per_s|rate}/s of {devices|,} devices  error ", stream) +
            Filled(kErrors, stream) +
            Filled("  skill {skill|%.3f}  rows learned {learned|,}", stream);
  return line;
}

}  // namespace

std::vector<std::string> TableLines(const ScreenView& view) {
  Table table(view.run);
  if (!view.only_streams) AddPlay(view, &table);
  AddStreams(view, &table);
  AddLearning(view, &table);
  table.End();
  for (const char* sentence : {"[CHECKPOINT NOT WRITTEN: {checkpoint_trouble}]",
                               "[BEST WEIGHTS NOT KEPT: {best_trouble}]", "[{waiting}]"})
    table.AddSentence(FillText(sentence, [&](std::string_view key) { return view.model.At(key); }));
  return std::move(table).lines();
}

std::string OneLine(const ScreenView& view) {
  const Reading& model = view.model;
  std::string line = view.only_streams ? StreamsLine(view) : PlayLine(view);
  line +=
      Filled(view.only_streams ? "  version {version|,}" : "  version {version|,}  actors {actors}",
             model);
  if (!model[kCheckpointTrouble].text().empty())
    line += "  CHECKPOINT NOT WRITTEN (last good " + Filled(kCheckpoint, model) + ')';
  if (!model[kBestTrouble].text().empty()) line += "  BEST WEIGHTS NOT KEPT";
  return line + FillText("[  eta {eta_s|time}][  ({waiting})]",
                         [&](std::string_view key) { return model.At(key); });
}

}  // namespace murmurate
