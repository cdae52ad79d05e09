#include "server/top/top_sections.h"

#include <algorithm>
#include <sstream>

#include "server/metrics/actor_report.h"
#include "server/operate/json_values.h"
#include "server/operate/screen_text.h"
#include "server/top/text_columns.h"
#include "server/top/top_table.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

constexpr int kBetween = 2;  ///< columns between two numbers

/// Parts one behind the other, in as many lines as they need.
class Flow {
 public:
  explicit Flow(int width) : width_(width) {}
  void Add(const std::string& text, TopStyle style = TopStyle::kPlain) {
    const std::string part = CutTo(Printable(text), width_);
    if (part.empty()) return;
    const int columns = ColumnsOf(part);
    if (lines_.empty() || used_ + kBetween + columns > width_) {
      lines_.emplace_back();
      used_ = -kBetween;
    }
    if (!lines_.back().empty()) lines_.back().push_back({std::string(kBetween, ' ')});
    lines_.back().push_back({part, style});
    used_ += kBetween + columns;
  }
  std::vector<TopLine> lines() && { return std::move(lines_); }

 private:
  const int width_;
  int used_ = 0;
  std::vector<TopLine> lines_;
};

/// A sentence in lines of words, all but the first indented.
void AddSentence(const std::string& text, TopStyle style, int width, std::vector<TopLine>* lines) {
  std::istringstream words(Printable(text));
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && ColumnsOf(line) + 1 + ColumnsOf(word) > width) {
      lines->push_back({{CutTo(line, width), style}});
      line = " ";
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) lines->push_back({{CutTo(line, width), style}});
}

Json ShownModel(const TopSnapshot& snapshot) {
  const std::vector<Json> models = ObjectsAt(snapshot.status, "models");
  if (models.empty()) return Json::object();
  return models[std::min(snapshot.model, models.size() - 1)];
}

bool IsStreamModel(const TopSnapshot& snapshot, const Json& model) {
  const std::vector<Json> streams = ObjectsAt(snapshot.status, "streams");
  return std::ranges::any_of(streams, [&](const Json& stream) {
    return ValueAt(stream, "name").text() == ValueAt(model, "name").text();
  });
}

void AddPlay(const Json& model, Flow* flow) {
  flow->Add(FillText("return {mean_return|return}[ of {target|%g}]", model), TopStyle::kStrong);
  flow->Add(FillText("{steps_per_second|rate} steps/s", model), TopStyle::kStrong);
  flow->Add(FillText("[eta {eta_s|time}]", model), TopStyle::kStrong);
  flow->Add(FillText("{learned_steps|,}[ of {budget|,}] steps learned", model));
  flow->Add(ExperienceInWords(ValueAt(model, "staleness").number().value_or(0)));
  flow->Add(FillText("[evaluated {evaluation.mean_return|return}]", model));
  flow->Add(FillText("[success {success_rate|%.2f}]", model));
  flow->Add(FillText("{episodes|,} episodes", model));
}

void AddLearning(const Json& model, Flow* flow) {
  flow->Add(FillText("version {version|,}", model));
  flow->Add(FillText("learner waited {learner_wait|%}", model));
  flow->Add(FillText("[actors waited {actor_wait|%}]", model));
  flow->Add(FillText("[shared parameters {exchange_staleness|%.1f} versions ahead]", model));
  flow->Add(FillText("[last checkpoint: step {checkpoint_step|,}]", model));
  const Json reports = model.value("reports", Json::object());
  for (const auto& [name, value] : reports.items())
    flow->Add(FillText("{name} {value|return}", Json{{"name", name}, {"value", value}}));
}

/// Of each model of a shard one row.
void AddShardRows(const Json& shard, std::vector<Json>* rows) {
  const std::string which = FillText("{shard} of {shards}", shard);
  const std::vector<Json> models = ObjectsAt(shard, "models");
  if (models.empty()) rows->push_back(Json{{"which", which}, {"waits", "no worker yet"}});
  for (Json model : models) {
    model["which"] = which;
    rows->push_back(std::move(model));
  }
}

std::vector<Json> ShardsOf(const TopSnapshot& snapshot) {
  std::vector<Json> shards = snapshot.shards;
  if (snapshot.status.contains("shard")) shards.insert(shards.begin(), snapshot.status);
  return shards;
}

/// Sentences of what does not go as it should.
std::vector<std::string> TroublesOf(const Json& status) {
  std::vector<std::string> sentences = StringsAt(status, "troubles");
  for (const Json& actor : ObjectsAt(status, "refused_actors"))
    sentences.push_back(FillText("actor {name} is refused: {reason}", actor));
  for (const Json& actor : ObjectsAt(status, "actors"))
    for (const Json& trouble : ObjectsAt(actor, "troubles"))
      sentences.push_back(FillText("actor {name}: ", actor) + FillText("{reason}", trouble));
  for (const Json& model : ObjectsAt(status, "models"))
    if (!ValueAt(model, "checkpoint_trouble").text().empty())
      sentences.push_back(FillText("no checkpoint of {name}: {checkpoint_trouble}", model));
  return sentences;
}

std::vector<std::string> WaitsOf(const TopSnapshot& snapshot) {
  std::vector<std::string> sentences = StringsAt(snapshot.status, "waiting");
  for (const Json& shard : ShardsOf(snapshot))
    for (const Json& model : ObjectsAt(shard, "models"))
      if (const std::string waits = ValueAt(model, "waits").text(); !waits.empty())
        sentences.push_back(FillText("shard {shard}: ", shard) + waits);
  return sentences;
}

}  // namespace

TopLine HeadLine(const TopSnapshot& snapshot, int width) {
  const Json& status = snapshot.status;
  const bool shard = status.contains("shard");
  const std::string who =
      FillText(shard ? "shard {shard} of {shards} ({directory})" : "{run}", status);
  const auto actors = ObjectsAt(status, "actors");
  const auto live = std::ranges::count_if(
      actors, [](const Json& actor) { return ValueAt(actor, "health").text() == "live"; });
  const std::string players = "  " + std::to_string(live) + " live actors";
  const std::string facts = FillText("  up {uptime_s|time}", status);
  const std::string process = FillText("  process {pid}", status);
  const std::string model = FillText("[  model {name}]", ShownModel(snapshot));
  std::string line = Printable(who);
  for (const std::string& part : {facts, shard ? "" : players, model, process})
    if (ColumnsOf(line) + ColumnsOf(part) <= width) line += Printable(part);
  return {{CutTo(line, width), TopStyle::kStrong}};
}

std::vector<TopLine> SummaryLines(const TopSnapshot& snapshot, int width) {
  if (snapshot.status.contains("shard")) return {};
  const Json model = ShownModel(snapshot);
  if (model.empty()) return {{{CutTo("no actor has named a model yet", width), TopStyle::kFaint}}};
  Flow flow(width);
  if (IsStreamModel(snapshot, model)) {
    flow.Add(FillText("{steps|,} rows learned", model), TopStyle::kStrong);
    flow.Add(FillText("{steps_per_second|rate} rows/s", model), TopStyle::kStrong);
  } else {
    AddPlay(model, &flow);
  }
  AddLearning(model, &flow);
  return std::move(flow).lines();
}

std::vector<TopLine> ModelLines(const TopSnapshot& snapshot, int width) {
  const std::vector<Json> models = ObjectsAt(snapshot.status, "models");
  if (models.size() < 2) return {};
  return TopTable({{"model", "{name}"},
                   {"return", "{mean_return|return}"},
                   {"steps/s", "{steps_per_second|rate}"},
                   {"lag", "{staleness|%.1f}"},
                   {"steps", "{steps|,}"},
                   {"version", "{version|,}"},
                   {"learner waited", "{learner_wait|%}"}},
                  models, width);
}

std::vector<TopLine> ShardLines(const TopSnapshot& snapshot, int width) {
  std::vector<Json> rows;
  for (const Json& shard : ShardsOf(snapshot)) AddShardRows(shard, &rows);
  return TopTable({{"shard", "{which}"},
                   {"model", "{name}"},
                   {"workers", "{workers|,}"},
                   {"version", "{version|,}"},
                   {"pushes/s", "{pushes_per_s|%.1f}"},
                   {"pushes", "{pushes|,}"},
                   {"merged", "{merged|,}"},
                   {"waits for", "[+{waiting_s|time}]"}},
                  rows, width);
}

std::vector<TopLine> StreamLines(const TopSnapshot& snapshot, int width) {
  std::vector<Json> streams = ObjectsAt(snapshot.status, "streams");
  for (Json& stream : streams)
    stream["state"] = ValueAt(stream, "up").zero() ? FillText("down {down_s|time}", stream) : "up";
  return TopTable({{"stream", "{name}"},
                   {"state", "{state}", StateStyle},
                   {"error", "{error|%.3f}"},
                   {"naive", "{baseline_error|%.3f}"},
                   {"messages/s", "{messages_per_s|rate}"},
                   {"devices", "{devices|,}"},
                   {"skill", "{skill|%.3f}"},
                   {"messages", "{messages|,}"},
                   {"rows learned", "{learned|,}"}},
                  streams, width);
}

std::vector<TopLine> ActorLines(const TopSnapshot& snapshot, int width) {
  std::vector<Json> actors = ObjectsAt(snapshot.status, "actors");
  std::ranges::stable_partition(
      actors, [](const Json& actor) { return ValueAt(actor, "health").text() != "gone"; });
  return TopTable({{"actor", "{name}"},
                   {"state", "{health}", StateStyle},
                   {"steps/s", "{steps_per_s|rate}"},
                   {"lag", "{lag|%.1f}"},
                   {"dropped", "{dropped_steps|,}"},
                   {"here for", "{here_s|time}"},
                   {"agents", "{agents|,}"},
                   {"waited", "{wait|%}"},
                   {"steps", "{steps|,}"},
                   {"refused", "{refused|,}"},
                   {"heard", "{silent_s|time} ago"}},
                  actors, width);
}

std::vector<TopLine> WaitLines(const TopSnapshot& snapshot, int width) {
  std::vector<TopLine> lines;
  for (const std::string& sentence : WaitsOf(snapshot))
    AddSentence(sentence, TopStyle::kWarning, width, &lines);
  for (const std::string& sentence : TroublesOf(snapshot.status))
    AddSentence(sentence, TopStyle::kBad, width, &lines);
  if (lines.empty())
    lines.push_back({{CutTo("nothing waits for anything", width), TopStyle::kFaint}});
  return lines;
}

}  // namespace murmurate
