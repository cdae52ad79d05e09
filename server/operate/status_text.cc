// The text of `murmurate status`, from the JSON that a learner has answered.
#include <algorithm>

#include "server/metrics/number_text.h"
#include "server/operate/json_values.h"
#include "server/operate/shard_report.h"
#include "server/operate/status_report.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

constexpr char kRun[] = "run {run} ({directory}), process {pid}, up {uptime_s|time}\n";
constexpr char kModel[] =
    "model {name}: {steps|,} steps[ ({learned_steps|,} learned from)], return "
    "{mean_return|return} over the last 100 episodes ({episodes|,} finished), [evaluated "
    "{evaluation.mean_return|return} at step {evaluation.learned_steps|,}[ (by {evaluation.by})], ]"
    "{steps_per_second|%.0f} steps/s, version {version|,}, staleness {staleness|%.1f}\n"
    "[+  {late_steps|,} steps came too late to be learned from\n]"
    "[  waited: learner {learner_wait|%}, actors {actor_wait|%}, experience for a free batch "
    "{ingest_wait|%} of the time\n]";
/// The line of a model that learns from the stream of its name: it plays no episodes.
constexpr char kStreamModel[] =
    "model {name}: {steps|,} rows learned, {steps_per_second|%.0f} rows/s, version {version|,}, "
    "learner waited {learner_wait|%} of the time\n";
constexpr char kGoodCheckpoint[] = "  last good checkpoint: step {checkpoint_step|,}";
constexpr char kCheckpoint[] =
    "[+, {checkpoint_failures|,} failed][; the last attempt: {checkpoint_trouble}]\n";
constexpr char kBest[] =
    "[+  best weights: {best_failures|,} times not kept[; the last attempt: {best_trouble}]\n]";
constexpr char kStream[] =
    "{messages|,} messages ({messages_per_s|%.0f}/s) of {devices|,} devices, {published|,} "
    "published, {answered|,} answered; {learned|,} rows learned, {unlearned|,} not"
    "[; error {error|%.3g}, naive {baseline_error|%.3g}][, skill {skill|%.3g}]\n"
    "[  {received|,} received, {rows|,} rows, {forecasts|,} forecasts[+, {late|,} late]"
    "[+, {incomplete|,} without a value that never came][+, {skipped|,} skipped for missing values]"
    "[+, {joined|,} joined in cells][+, {empty|,} empty cells][+, {waiting|,} cells open]\n]"
    "[  no row: {stuck}; set 'every' if its fields come apart\n]"
    "[+  messages that have not come, by their numbers: {gaps|,}\n]";
constexpr char kField[] =
    "[+, {missing|,} missing][+, {out_of_range|,} out of range][+, {wrong_type|,} of the wrong "
    "type]";
constexpr char kActor[] =
    "actor {name}: {health}, {agents} agents, {steps|,} steps[+, {dropped_steps|,} never sent]"
    "[+, {refused|,} trajectories refused]";

constexpr char kHook[] =
    "hook {name} ({kind}): {state}; {calls|,} calls, {seconds|time} in all, the longest "
    "{longest_s|time}[+, {waiting|,} events wait][+, {dropped|,} events dropped]"
    "[+, {failures|,} failed[; the last one: {trouble}]]\n";

/// The value at `key`, as something to walk through.
Json At(const Json& json, const char* key) { return json.value(key, Json::array()); }

/// Successes and the game's own numbers, when there are any.
std::string NumbersLine(const Json& model) {
  std::string line = FillText("[, rollout/success_rate {success_rate|%.2f}]", model);
  const Json reports = model.value("reports", Json::object());
  for (const auto& [name, mean] : reports.items())
    line += ", " + name + ' ' + (mean.is_number() ? ReturnText(mean.get<double>()) : "-");
  return line.empty() ? line : "  " + line.substr(2) + '\n';
}

/// "" before the first attempt.
std::string CheckpointLines(const Json& model) {
  const bool good = !ValueAt(model, "checkpoint_step").empty();
  const std::string best = FillText(kBest, model);
  if (!good && ValueAt(model, "checkpoint_failures").count() == 0) return best;
  return FillText(good ? kGoodCheckpoint : "  last good checkpoint: none", model) +
         FillText(kCheckpoint, model) + best;
}

std::string ModelLines(const Json& model, const Json& streams) {
  const bool stream = std::ranges::any_of(
      streams, [&](const Json& one) { return one.value("name", "") == model.value("name", "?"); });
  return (stream ? FillText(kStreamModel, model) : FillText(kModel, model) + NumbersLine(model)) +
         CheckpointLines(model);
}

/// "stream temp: connected to mqtt://..., 1,200 messages (10/s) of 3 devices; ...", then lines of
/// what became of the messages, of each field that was missing or wrong, and of each reason why
/// messages were refused.
std::string StreamLines(const Json& stream) {
  const bool up = stream.value("up", false);
  std::string text =
      FillText("stream {name}: ", stream) +
      FillText(up ? "[connected to {broker}, ]" : "[{broker} is down since {down_s|time}, ]",
               stream) +
      FillText("[listens on {listen} ({clients|,} clients), ]", stream) + FillText(kStream, stream);
  const Json fields = stream.value("fields", Json::object());
  for (const auto& [name, counts] : fields.items())
    text += "  field " + name + ": " + FillText(kField, counts).erase(0, 2) + '\n';
  const Json refused = stream.value("refused", Json::object());
  for (const auto& [word, times] : refused.items())
    text += "  refused messages (" + word + "): " + times.dump() + '\n';
  return text;
}

/// "  agent 3 of model npc: SENTENCE (the same of 7 more agents)", a line each.
std::string TroubleLines(const Json& troubles) {
  std::string lines;
  for (const Json& trouble : troubles) {
    const auto agent = static_cast<std::uint32_t>(ValueAt(trouble, "agent").count());
    const TroubleReport report{trouble.value("model", "?"), agent, trouble.value("agents", 0u),
                               trouble.value("reason", "?")};
    lines += "  " + report.Words() + '\n';
  }
  return lines;
}

/// "  staleness 0:81% 1:17% 2-3:2%"
std::string StalenessLine(const Json& buckets) {
  double all = 0;
  for (const Json& bucket : buckets) all += bucket.value("trajectories", 0.0);
  if (all == 0) return "";
  std::string line = "  staleness";
  for (const Json& bucket : buckets) {
    const double percent = 100.0 * bucket.value("trajectories", 0.0) / all;
    line += ' ' + bucket.value("versions", "?") + ':' +
            (percent < 0.5 ? "<1" : FormatNumber("%.0f", percent)) + '%';
  }
  return line + '\n';
}

std::string ActorLines(const Json& actor) {
  const bool silent = actor.value("health", "") != "live";
  return FillText(kActor, actor) +
         (silent ? FillText("[, silent for {silent_s|time}]", actor) : "") +
         FillText("[, waited {wait|%}]\n", actor) + TroubleLines(At(actor, "troubles")) +
         StalenessLine(At(actor, "staleness"));
}

std::string Lines(const Json& report) {
  std::string text = FillText(kRun, report);
  if (report.contains("paused"))
    text += FillText("learning is paused by {by} since {since}, for {seconds|time}\n",
                     report["paused"]);
  for (const auto& address : At(report, "listen"))
    text += "listening on " + address.get<std::string>() + '\n';
  text += FillText("[announcing on {announce}, weights on {weights}\n]", report);
  const Json streams = At(report, "streams"), models = At(report, "models");
  for (const Json& model : models) text += ModelLines(model, streams);
  for (const Json& stream : streams) text += StreamLines(stream);
  const Json settings = report.value("settings", Json::object());
  for (const auto& [name, value] : settings.items())
    text += "setting " + name + ' ' + FormatNumber("%g", value.get<double>()) + '\n';
  for (const Json& hook : At(report, "hooks")) text += FillText(kHook, hook);
  if (models.empty()) text += "no actor has named a model yet\n";
  for (const Json& actor : At(report, "actors")) text += ActorLines(actor);
  for (const Json& actor : At(report, "refused_actors"))
    text += FillText("actor {name} is refused: {reason}\n", actor);
  const Json refusals = report.value("refusals", Json::object());  // items() only points into it
  for (const auto& [name, count] : refusals.items())
    text += "refused messages (" + name + "): " + count.dump() + '\n';
  text +=
      FillText("[+lost when the learner died before: {lost_trajectories} trajectories\n]", report);
  for (const Json& sentence : At(report, "troubles"))
    text += "trouble: " + sentence.get<std::string>() + '\n';
  for (const Json& sentence : At(report, "waiting"))
    text += "waiting: " + sentence.get<std::string>() + '\n';
  return text;
}

}  // namespace

Result<std::string> StatusText(const std::string& json) {
  if (IsShardReport(json)) return ShardText(json);
  try {
    return Lines(Json::parse(json));
  } catch (const Json::exception& error) {
    return InvalidData(std::string("the learner's status cannot be read (") + error.what() +
                       "); use the same version of murmurate on both sides");
  }
}

}  // namespace murmurate
