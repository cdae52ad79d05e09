#include "server/operate/screen_text.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "server/metrics/fill_text.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/number_text.h"
#include "server/metrics/stream_metrics.h"
#include "server/operate/fitted_line.h"

namespace murmurate {
namespace {

constexpr std::size_t kNameWidth = 14, kValueWidth = 30;
constexpr std::size_t kMostShown = 4;

constexpr char kLearned[] = "{learned_steps|,}[ of {budget|,}]";
constexpr char kReturn[] = "[{mean_return|return}[ of {target|%g}]]";
constexpr char kCheckpoint[] = "[step {checkpoint_step|,}]";
constexpr char kErrors[] = "[{error|%.3f}, naive {baseline_error|%.3f}]";

std::string FilledOrNone(const char* pattern, const Reading& reading) {
  return FillText(pattern, [&](std::string_view key) { return reading.At(key); });
}

/// "-" in place of "".
std::string Filled(const char* pattern, const Reading& reading) {
  const std::string text = FilledOrNone(pattern, reading);
  return text.empty() ? "-" : text;
}

/// "up to date", "0.6 versions old"
std::string Age(const Reading& model) {
  constexpr std::string_view kBegin = "experience is ";
  return ExperienceInWords(model.Number(kStaleness).value_or(0)).substr(kBegin.size());
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
  if (!view.only_streams) {
    table->Add(view.model, {{"episodes", "{episodes|,}"}, {"steps/s", "{steps_per_second|rate}"}});
    table->Add("experience", Age(view.model));
  }
  table->Add(view.model, {{"version", "{version|,}"}});
  if (!view.only_streams) table->Add(view.model, {{"actors", "{actors} ({agents} agents)"}});
  table->Add(view.model, {{"checkpoint", kCheckpoint}, {"time", "{time/time_elapsed|time}"}});
  if (!view.only_streams) table->Add(view.model, {{"eta", "[at most {eta_s|time}]"}});
}

/// "61.9 M"; below a million with commas.
std::string CountText(double count) {
  if (count < 1e6) return WithCommas(static_cast<std::uint64_t>(count));
  return count < 1e9 ? FormatNumber("%.1f M", count / 1e6) : FormatNumber("%.1f G", count / 1e9);
}

/// "41 % of 150,000 steps", or "61,952 steps" where there is no end; shorter where they must be.
void AddSteps(const Reading& model, FittedLine* line) {
  const auto budget = model.Number(kBudget);
  if (!budget || !(*budget > 0)) {
    const double steps = model.Number(kEnvironmentSteps).value_or(0);
    return line->Offer(3, Filled("{steps|,} steps", model), CountText(steps) + " steps");
  }
  const double learned = model.Number(kLearnedSteps).value_or(0);
  const std::string share = FormatNumber("%.0f %%", std::floor(100 * learned / *budget));
  line->Offer(3, share + Filled(" of {budget|,} steps", model), share);
}

/// The return, or what a run of labels has instead.
void AddResults(const ScreenView& view, FittedLine* line) {
  const auto scores = Scores(view);
  if (!OnlyLabels(view))
    line->Offer(5, "return " + Filled(kReturn, view.model),
                "return " + Filled("[{mean_return|return}]", view.model));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const std::string score = scores[i].first + ' ' + scores[i].second;
    OnlyLabels(view) && i == 0 ? line->Add(score) : line->Offer(2, score);
  }
  line->Offer(0, FilledOrNone("[evaluation {evaluation.mean_return|return}]", view.model));
  line->Offer(4, FilledOrNone("[success {success_rate|%.2f}]", view.model));
}

/// "41 %  return 431.2  152 k steps/s  eta 12 s  experience is 1.0 versions old", then numbers of
/// the game, settings and streams, where there is room.
std::string PlayLine(const ScreenView& view) {
  const Reading& model = view.model;
  FittedLine line(kLineWidth);
  AddSteps(model, &line);
  AddResults(view, &line);
  line.Offer(2, Filled("{steps_per_second|rate} steps/s", model),
             Filled("{steps_per_second|rate}/s", model));
  line.Add(FilledOrNone("[eta {eta_s|time}]", model));
  if (const auto age = model.Number(kStaleness); age && !OnlyLabels(view))
    line.Offer(1, ExperienceInWords(*age), Age(model));
  for (const auto& [name, value] : Reported(view, "=%g"))
    line.Offer(6, name + (value.starts_with('=') ? "" : " ") + value);
  for (const Reading& stream : view.streams)
    line.Offer(3, stream.name() + ' ' + Connection(stream));
  return line.Text();
}

/// "temp connected, 1,200 messages  error 0.412, naive 0.730  skill 0.436  ..."
std::string StreamsLine(const ScreenView& view) {
  FittedLine line(kLineWidth);
  for (std::size_t i = 0; i < view.streams.size(); ++i) {
    const Reading& stream = view.streams[i];
    const std::string state = stream.name() + ' ' + Connection(stream);
    const std::string errors = "error " + Filled(kErrors, stream);
    if (i > 0) {
      line.Offer(2, state + "  " + errors);
      continue;
    }
    line.Add(state);
    line.Offer(0, errors);
    line.Offer(1, FilledOrNone("[skill {skill|%.3f}]", stream));
    line.Offer(3, Filled("{messages_per_s|rate} messages/s", stream));
    line.Offer(4, Filled("{learned|,} rows learned", stream));
  }
  return line.Text();
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
    table.AddSentence(FilledOrNone(sentence, view.model));
  return std::move(table).lines();
}

std::string OneLine(const ScreenView& view) {
  const Reading& model = view.model;
  std::string line = view.only_streams ? StreamsLine(view) : PlayLine(view);
  if (!model[kCheckpointTrouble].text().empty())
    line += "  CHECKPOINT NOT WRITTEN (last good " + Filled(kCheckpoint, model) + ')';
  if (!model[kBestTrouble].text().empty()) line += "  BEST WEIGHTS NOT KEPT";
  const std::string waits = FilledOrNone("[  ({waiting})]", model);
  return line + waits;
}

std::string ExperienceInWords(double versions) {
  return versions < 0.05 ? "experience is up to date"
                         : FormatNumber("experience is %.1f versions old", versions);
}

}  // namespace murmurate
