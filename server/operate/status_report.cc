#include "server/operate/status_report.h"

#include "server/operate/json_values.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

const char* HealthName(ActorReport::Health health) {
  using Health = ActorReport::Health;
  return health == Health::kLive ? "live" : health == Health::kStalled ? "stalled" : "gone";
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

/// Null before the first batch.
Json MeanStaleness(const StalenessHistogram& staleness) {
  const Histogram all = staleness.ToHistogram();
  return all.count() == 0 ? Json(nullptr) : Json(all.sum / static_cast<double>(all.count()));
}

Json TroublesJson(const std::vector<TroubleReport>& troubles) {
  Json list = Json::array();
  for (const TroubleReport& trouble : troubles)
    list.push_back({{"model", trouble.model},
                    {"agent", trouble.agents > 0 ? Json(trouble.agent) : Json(nullptr)},
                    {"agents", trouble.agents},
                    {"reason", trouble.sentence}});
  return list;
}

Json ActorJson(const ActorReport& actor) {
  return {{"name", actor.name},
          {"health", HealthName(actor.health)},
          {"agents", actor.agents},
          {"steps", actor.steps},
          {"dropped_steps", actor.dropped_steps},
          {"trajectories", actor.trajectories},
          {"refused", actor.refused},
          {"silent_s", static_cast<double>(actor.silent_ns) * 1e-9},
          {"here_s", static_cast<double>(actor.here_ns) * 1e-9},
          {"wait", actor.played_ns > 0 ? Json(static_cast<double>(actor.waited_ns) /
                                              static_cast<double>(actor.played_ns))
                                       : Json(nullptr)},
          {"troubles", TroublesJson(actor.troubles)},
          {"staleness_mean", MeanStaleness(actor.staleness)},
          {"staleness", StalenessJson(actor.staleness)}};
}

}  // namespace

std::string StatusReport::ToJson(int indent) const {
  AddressFamily sisters;  // of the first address alone, and only where it is a port
  if (!listen.empty() && listen.front().starts_with("tcp://"))
    if (const auto family = SisterAddresses(listen.front()); family.ok()) sisters = *family;
  Json json{{"run", run},
            {"directory", directory},
            {"pid", pid},
            {"uptime_s", uptime_s},
            {"listen", listen},
            {"announce", sisters.announce},
            {"weights", sisters.weights},
            {"refusals", Json::object()},
            {"refused_actors", Json::array()},
            {"duplicates", actors.duplicates},
            {"lost_trajectories", actors.lost_trajectories},
            {"messages", actors.messages},
            {"bytes", actors.bytes},
            {"waiting", actors.waiting},
            {"settings", Json::object()},
            {"models", Json::array()},
            {"streams", Json::array()},
            {"actors", Json::array()}};
  if (paused)
    json["paused"] = {{"by", paused->by}, {"since", paused->since}, {"seconds", paused->seconds}};
  if (!actors.troubles.empty()) json["troubles"] = actors.troubles;
  if (left_out_actors > 0) json["left_out_actors"] = left_out_actors;
  for (int i = 1; i < wire::kRefusalCount; ++i)
    if (const auto count = actors.refusals[static_cast<std::size_t>(i)]; count > 0)
      json["refusals"][wire::RefusalName(static_cast<wire::Refusal>(i))] = count;
  for (const RefusedActor& actor : actors.refused)
    json["refused_actors"].push_back({{"name", actor.name}, {"reason", actor.sentence}});
  for (const auto& [name, value] : settings) json["settings"][name] = value;
  for (const Reading& model : models)
    json["models"].push_back(JsonOf(model, {{"evaluation", nullptr}, {"reports", Json::object()}}));
  for (const Reading& stream : streams)
    json["streams"].push_back(
        JsonOf(stream, {{"refused", Json::object()}, {"fields", Json::object()}}));
  for (const Reading& hook : hooks) json["hooks"].push_back(JsonOf(hook, Json::object()));
  for (const ActorReport& actor : actors.actors) json["actors"].push_back(ActorJson(actor));
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string StatusField(const std::string& json, const std::string& key) {
  const Json report = Json::parse(json, nullptr, false);
  return ValueAt(report, key).text();
}

}  // namespace murmurate
