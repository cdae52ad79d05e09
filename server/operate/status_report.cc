#include "server/operate/status_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/operate/display.h"
#include "server/operate/shard_report.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

const char* HealthName(wire::ServerSession::ActorReport::Health health) {
  using Health = wire::ServerSession::ActorReport::Health;
  return health == Health::kLive ? "live" : health == Health::kStalled ? "stalled" : "gone";
}

/// As TensorBoard and progress.csv would call it: the game's own words are of training.
std::string Shown(const std::string& name) {
  return name.find('/') == std::string::npos ? "rollout/" + name : name;
}

Json EvaluationJson(const std::optional<Evaluation>& evaluation) {
  if (!evaluation) return nullptr;
  return {{"mean_return", evaluation->mean_return},
          {"deviation", evaluation->deviation},
          {"mean_length", evaluation->mean_length},
          {"success_rate", evaluation->success_rate ? Json(*evaluation->success_rate) : Json()},
          {"episodes", evaluation->episodes},
          {"steps", evaluation->steps}};
}

Json NumbersJson(const std::vector<std::pair<std::string, double>>& numbers) {
  Json json = Json::object();
  for (const auto& [name, value] : numbers) json[name] = value;
  return json;
}

Json ReportsJson(std::vector<std::pair<std::string, double>> reports) {
  for (auto& [name, mean] : reports) name = Shown(name);
  return NumbersJson(reports);
}

Json ModelJson(const ModelStatus& model) {
  return {{"name", model.name},
          {"steps", model.steps},
          {"trained_steps", model.trained_steps},
          {"updates", model.updates},
          {"version", model.version},
          {"episodes", model.episodes},
          {"dropped_steps", model.dropped_steps},
          {"late_steps", model.late_steps},
          {"mean_return", model.mean_return ? Json(*model.mean_return) : Json(nullptr)},
          {"success_rate", model.success_rate ? Json(*model.success_rate) : Json(nullptr)},
          {"reports", ReportsJson(model.reports)},
          {"evaluation", EvaluationJson(model.evaluation)},
          {"steps_per_second", model.steps_per_second},
          {"staleness", model.staleness},
          {"checkpoints_written", model.checkpoints.written},
          {"checkpoint_failures", model.checkpoints.failures},
          {"checkpoint_step",
           model.checkpoints.last_step ? Json(*model.checkpoints.last_step) : Json(nullptr)},
          {"checkpoint_trouble", model.checkpoints.trouble},
          {"best_failures", model.checkpoints.best_failures},
          {"best_trouble", model.checkpoints.best_trouble},
          {"learner_wait", model.learner_wait},
          {"ingest_wait", model.ingest_wait},
          {"actor_wait", model.actor_wait ? Json(*model.actor_wait) : Json(nullptr)}};
}

/// The buckets that hold anything, in order.
Json StalenessJson(const StalenessHistogram& staleness) {
  Json buckets = Json::array();
  for (int i = 0; i < StalenessHistogram::kBuckets; ++i) {
    const std::uint64_t count = staleness.counts()[static_cast<std::size_t>(i)];
    if (count > 0)
      buckets.push_back({{"versions", StalenessHistogram::NameOf(i)}, {"trajectories", count}});
  }
  return buckets;
}

Json ActorJson(const wire::ServerSession::ActorReport& actor) {
  return {{"name", actor.name},
          {"health", HealthName(actor.health)},
          {"agents", actor.agents},
          {"steps", actor.steps},
          {"dropped_steps", actor.dropped_steps},
          {"trajectories", actor.trajectories},
          {"refused", actor.refused},
          {"silent_s", static_cast<double>(actor.silent_ns) * 1e-9},
          {"wait", actor.played_ns > 0 ? Json(static_cast<double>(actor.waited_ns) /
                                              static_cast<double>(actor.played_ns))
                                       : Json(nullptr)},
          {"staleness", StalenessJson(actor.staleness)}};
}

Json StreamJson(const StreamView& stream) {
  Json refused = Json::object();
  for (const auto& [word, count] : stream.refused) refused[word] = count;
  Json fields = Json::object();
  for (const FieldView& field : stream.fields)
    fields[field.name] = {{"missing", field.missing},
                          {"out_of_range", field.out_of_range},
                          {"wrong_type", field.wrong_type}};
  return {{"name", stream.name},
          {"broker", stream.broker},
          {"listen", stream.listen},
          {"clients", stream.clients},
          {"answered", stream.answered},
          {"up", stream.up},
          {"down_s", stream.down_s},
          {"received", stream.received},
          {"published", stream.published},
          {"losses", stream.losses},
          {"messages", stream.messages},
          {"messages_per_s", stream.messages_per_s},
          {"devices", stream.devices},
          {"learned", stream.learned},
          {"unlearned", stream.unlearned},
          {"gaps", stream.gaps},
          {"error", stream.error ? Json(*stream.error) : Json()},
          {"baseline_error", stream.baseline_error ? Json(*stream.baseline_error) : Json()},
          {"skill", stream.skill() ? Json(*stream.skill()) : Json()},
          {"fields", fields},
          {"refused", refused}};
}

std::string Number(const Json& number, const char* format) {
  if (!number.is_number()) return "-";
  char text[48];
  std::snprintf(text, sizeof text, format, number.get<double>());
  return text;
}

std::string Return(const Json& mean) {
  return mean.is_number() ? ReturnText(mean.get<double>()) : "-";
}

/// "evaluated 500.0 at step 66,304, "
std::string Evaluated(const Json& evaluation) {
  if (!evaluation.is_object()) return "";
  return "evaluated " + Return(evaluation.value("mean_return", Json())) + " at step " +
         WithCommas(evaluation.value("steps", std::uint64_t{0})) + ", ";
}

/// Successes and the game's own numbers, when there are any.
std::string NumbersLine(const Json& model) {
  std::string line;
  if (const Json rate = model.value("success_rate", Json()); rate.is_number())
    line = ", rollout/success_rate " + Number(rate, "%.2f");
  const Json reports = model.value("reports", Json::object());
  for (const auto& [name, mean] : reports.items()) line += ", " + name + ' ' + Return(mean);
  return line.empty() ? line : "  " + line.substr(2) + '\n';
}

std::string Percent(const Json& share) {
  return share.is_number() ? Number(Json(100.0 * share.get<double>()), "%.0f %%") : "-";
}

/// "staleness 0:81% 1:17% 2-3:2%"
std::string StalenessLine(const Json& buckets) {
  double all = 0;
  for (const Json& bucket : buckets) all += bucket.value("trajectories", 0.0);
  if (all == 0) return "";
  std::string line = "  staleness";
  for (const Json& bucket : buckets) {
    const double percent = 100.0 * bucket.value("trajectories", 0.0) / all;
    line += ' ' + bucket.value("versions", "?") + ':' +
            (percent < 0.5 ? "<1" : Number(Json(percent), "%.0f")) + '%';
  }
  return line + '\n';
}

std::string WaitLine(const Json& model) {
  if (!model.contains("learner_wait")) return "";
  return "  waited: learner " + Percent(model["learner_wait"]) + ", actors " +
         Percent(model.value("actor_wait", Json())) + ", experience for a free batch " +
         Percent(model.value("ingest_wait", Json())) + " of the time\n";
}

/// Of a model that learns from the stream of its name: it plays no episodes.
std::string StreamModelLine(const Json& model) {
  return "model " + model.value("name", "?") + ": " +
         WithCommas(model.value("steps", std::uint64_t{0})) + " rows learned, " +
         Number(model.value("steps_per_second", Json()), "%.0f") + " rows/s, version " +
         WithCommas(model.value("version", std::uint64_t{0})) + ", learner waited " +
         Percent(model.value("learner_wait", Json())) + " of the time\n";
}

bool IsStream(const Json& model, const Json& streams) {
  return std::any_of(streams.begin(), streams.end(), [&](const Json& stream) {
    return stream.value("name", "") == model.value("name", "?");
  });
}

/// "" while nothing came too late.
std::string LateLine(const Json& model) {
  const auto late = model.value("late_steps", std::uint64_t{0});
  if (late == 0) return "";
  return "  " + WithCommas(late) + " steps came too late to be learned from\n";
}

std::string ModelLine(const Json& model) {
  return "model " + model.value("name", "?") + ": " +
         WithCommas(model.value("steps", std::uint64_t{0})) + " steps, return " +
         Return(model.value("mean_return", Json())) + " over the last 100 episodes (" +
         WithCommas(model.value("episodes", std::uint64_t{0})) + " finished), " +
         Evaluated(model.value("evaluation", Json())) +
         Number(model.value("steps_per_second", Json()), "%.0f") + " steps/s, version " +
         WithCommas(model.value("version", std::uint64_t{0})) + ", staleness " +
         Number(model.value("staleness", Json()), "%.1f") + '\n' + LateLine(model) +
         WaitLine(model) + NumbersLine(model);
}

/// "" while all went well.
std::string BestLine(const Json& model) {
  const auto failures = model.value("best_failures", std::uint64_t{0});
  if (failures == 0) return "";
  const std::string trouble = model.value("best_trouble", "");
  return "  best weights: " + WithCommas(failures) + " times not kept" +
         (trouble.empty() ? "" : "; the last attempt: " + trouble) + '\n';
}

/// "" before the first attempt.
std::string CheckpointLine(const Json& model) {
  const Json step = model.value("checkpoint_step", Json());
  const auto failures = model.value("checkpoint_failures", std::uint64_t{0});
  if (step.is_null() && failures == 0) return BestLine(model);
  std::string line = "  last good checkpoint: " +
                     (step.is_number() ? "step " + WithCommas(step.get<std::uint64_t>()) : "none");
  if (failures > 0) line += ", " + WithCommas(failures) + " failed";
  const std::string trouble = model.value("checkpoint_trouble", "");
  if (!trouble.empty()) line += "; the last attempt: " + trouble;
  return line + '\n' + BestLine(model);
}

std::string ActorLine(const Json& actor) {
  std::string line = "actor " + actor.value("name", "?") + ": " + actor.value("health", "?") +
                     ", " + std::to_string(actor.value("agents", 0)) + " agents, " +
                     WithCommas(actor.value("steps", std::uint64_t{0})) + " steps";
  if (const auto dropped = actor.value("dropped_steps", std::uint64_t{0}); dropped > 0)
    line += ", " + WithCommas(dropped) + " never sent";
  if (const auto refused = actor.value("refused", std::uint64_t{0}); refused > 0)
    line += ", " + WithCommas(refused) + " trajectories refused";
  if (actor.value("health", "") != "live")
    line += ", silent for " + ShortDuration(actor.value("silent_s", 0.0));
  if (const Json wait = actor.value("wait", Json()); wait.is_number())
    line += ", waited " + Percent(wait);
  return line + '\n' + StalenessLine(actor.value("staleness", Json::array()));
}

/// "  field hum: 3 missing, 1 out of range"
std::string FieldLine(const std::string& name, const Json& counts) {
  std::string line;
  for (const auto& [key, words] :
       {std::pair{"missing", " missing"}, std::pair{"out_of_range", " out of range"},
        std::pair{"wrong_type", " of the wrong type"}})
    if (const auto count = counts.value(key, std::uint64_t{0}); count > 0)
      line += (line.empty() ? "" : ", ") + WithCommas(count) + words;
  return "  field " + name + ": " + line + '\n';
}

/// "connected to mqtt://..., listens on tcp://... (2 clients), "
std::string StreamWays(const Json& stream) {
  std::string ways;
  if (const std::string broker = stream.value("broker", "?"); !broker.empty())
    ways = stream.value("up", false)
               ? "connected to " + broker + ", "
               : broker + " is down since " + ShortDuration(stream.value("down_s", 0.0)) + ", ";
  if (const std::string listen = stream.value("listen", ""); !listen.empty())
    ways += "listens on " + listen + " (" + WithCommas(stream.value("clients", std::uint64_t{0})) +
            " clients), ";
  return ways;
}

/// "stream temp: connected to mqtt://..., 1,200 messages (10/s) of 3 devices; ..."
std::string StreamLine(const Json& stream) {
  const auto count = [&](const char* key) {
    return WithCommas(stream.value(key, std::uint64_t{0}));
  };
  std::string line =
      "stream " + stream.value("name", "?") + ": " + StreamWays(stream) + count("messages") +
      " messages (" + Number(stream.value("messages_per_s", Json()), "%.0f") + "/s) of " +
      count("devices") + " devices, " + count("published") + " published, " + count("answered") +
      " answered; " + count("learned") + " rows learned, " + count("unlearned") + " not";
  if (const Json error = stream.value("error", Json()); error.is_number())
    line += "; error " + Number(error, "%.3g") + ", naive " +
            Number(stream.value("baseline_error", Json()), "%.3g");
  if (const Json skill = stream.value("skill", Json()); skill.is_number())
    line += ", skill " + Number(skill, "%.3g");
  line += '\n';
  if (const auto gaps = stream.value("gaps", std::uint64_t{0}); gaps > 0)
    line += "  messages that never came, by their numbers: " + WithCommas(gaps) + '\n';
  const Json fields = stream.value("fields", Json::object());
  for (const auto& [name, counts] : fields.items()) line += FieldLine(name, counts);
  const Json refused = stream.value("refused", Json::object());
  for (const auto& [word, times] : refused.items())
    line += "  refused messages (" + word + "): " + times.dump() + '\n';
  return line;
}

std::string Lines(const Json& report) {
  std::string text = "run " + report.value("run", "?") + " (" + report.value("directory", "?") +
                     "), process " + std::to_string(report.value("pid", 0)) + ", up " +
                     ShortDuration(report.value("uptime_s", 0.0)) + '\n';
  for (const auto& address : report.value("listen", Json::array()))
    text += "listening on " + address.get<std::string>() + '\n';
  if (const std::string weights = report.value("weights", ""); !weights.empty())
    text += "announcing on " + report.value("announce", "?") + ", weights on " + weights + '\n';
  const Json streams = report.value("streams", Json::array());
  for (const auto& model : report.value("models", Json::array()))
    text += (IsStream(model, streams) ? StreamModelLine(model) : ModelLine(model)) +
            CheckpointLine(model);
  for (const auto& stream : streams) text += StreamLine(stream);
  const Json settings = report.value("settings", Json::object());
  for (const auto& [name, value] : settings.items())
    text += "setting " + name + ' ' + Number(value, "%g") + '\n';
  if (report.value("models", Json::array()).empty()) text += "no actor has named a model yet\n";
  for (const auto& actor : report.value("actors", Json::array())) text += ActorLine(actor);
  const Json refusals = report.value("refusals", Json::object());  // items() only points into it
  for (const auto& [name, count] : refusals.items())
    text += "refused messages (" + name + "): " + count.dump() + '\n';
  if (const std::uint64_t lost = report.value("lost_trajectories", std::uint64_t{0}); lost > 0)
    text +=
        "lost with an earlier life of this learner: " + std::to_string(lost) + " trajectories\n";
  for (const auto& sentence : report.value("waiting", Json::array()))
    text += "waiting: " + sentence.get<std::string>() + '\n';
  return text;
}

}  // namespace

std::string StatusReport::ToJson() const {
  AddressFamily
      sisters;  // of the first address alone, and of use to people only where it is a port
  if (!listen.empty() && listen.front().starts_with("tcp://"))
    if (const auto family = SisterAddresses(listen.front()); family.ok()) sisters = *family;
  Json refusals = Json::object();
  for (int i = 1; i < wire::kRefusalCount; ++i)
    if (const auto count = actors.refusals[static_cast<std::size_t>(i)]; count > 0)
      refusals[wire::RefusalName(static_cast<wire::Refusal>(i))] = count;
  Json json{{"run", run},
            {"directory", directory},
            {"pid", pid},
            {"uptime_s", uptime_s},
            {"listen", listen},
            {"announce", sisters.announce},
            {"weights", sisters.weights},
            {"refusals", refusals},
            {"duplicates", actors.duplicates},
            {"lost_trajectories", actors.lost_trajectories},
            {"messages", actors.messages},
            {"bytes", actors.bytes},
            {"waiting", actors.waiting},
            {"settings", NumbersJson(settings)},
            {"models", Json::array()},
            {"streams", Json::array()},
            {"actors", Json::array()}};
  for (const auto& model : models) json["models"].push_back(ModelJson(model));
  for (const auto& stream : streams) json["streams"].push_back(StreamJson(stream));
  for (const auto& actor : actors.actors) json["actors"].push_back(ActorJson(actor));
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> StatusText(const std::string& json) {
  if (IsShardReport(json)) return ShardText(json);
  try {
    return Lines(Json::parse(json));
  } catch (const Json::exception& error) {
    return InvalidData(std::string("the learner's status cannot be read (") + error.what() +
                       "); use the same version of murmurate on both sides");
  }
}

std::string StatusField(const std::string& json, const std::string& key) {
  const Json report = Json::parse(json, nullptr, false);
  if (!report.is_object() || !report.contains(key) || !report[key].is_string()) return "";
  return report[key].get<std::string>();
}

}  // namespace murmurate
