#include "server/hooks/event_json.h"

#include <nlohmann/json.hpp>

namespace murmurate {
namespace {

using Json = nlohmann::json;

std::string LineOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Json MetricsOf(const Reading& reading) {
  Json metrics = Json::object();
  for (const MetricSample& sample : reading.samples())
    if (const auto number = sample.value.number(); number && sample.label.empty())
      metrics[std::string(sample.metric->name)] = *number;
  return metrics;
}

void AddEpisode(const HookEpisode& episode, Json* json) {
  (*json)["return"] = episode.raw_return;
  (*json)["length"] = episode.length;
  (*json)["success"] = episode.success ? Json(*episode.success) : Json(nullptr);
}

}  // namespace

std::string JsonLineOf(const HookEvent& event, std::uint64_t lost) {
  Json json{{"event", TextOf(event.moment)},
            {"model", event.model},
            {"steps", event.steps},
            {"environment_steps", event.environment_steps},
            {"version", event.version}};
  const bool numbers = event.moment == HookMoment::kAfterBatch || event.moment == HookMoment::kEnd;
  if (numbers) json["metrics"] = MetricsOf(event.reading);
  if (event.moment == HookMoment::kAfterBatch) json["finite"] = event.finite;
  if (event.moment == HookMoment::kEpisode) AddEpisode(event.episode, &json);
  if (event.moment == HookMoment::kCheckpoint) json["folder"] = event.text;
  if (event.moment == HookMoment::kCheckpoint) json["good"] = event.good;
  if (event.moment == HookMoment::kEnd) json["reason"] = event.text;
  if (lost > 0) json["lost"] = lost;
  return LineOf(json);
}

std::string JsonBegin(const std::string& hook, const std::string& folder) {
  return LineOf({{"event", "begin"}, {"hook", hook}, {"run", folder}});
}

}  // namespace murmurate
