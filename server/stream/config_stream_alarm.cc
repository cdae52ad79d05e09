// What [stream.NAME.alarm] says.
#include <utility>

#include "server/stream/config_stream_keys.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

Status ReadConditions(const StreamKeys& keys, const StreamSettings& stream,
                      AlarmSettings* settings) {
  const ForecastSettings& forecast = stream.forecast;
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < forecast.targets.size(); ++i)
    targets.push_back(forecast.TargetField(i).name);
  const auto read = [&](const char* key) {
    return AlarmCondition::Parse(keys.Text(key), targets, forecast.quantiles.size() > 1);
  };
  const auto when = read("when");
  if (!when.ok()) return keys.Blame("when", when.status());
  settings->when = *when;
  settings->rows = static_cast<std::uint32_t>(keys.Integer("for"));
  if (!keys.Given("clear")) return {};
  const auto clear = read("clear");
  if (!clear.ok()) return keys.Blame("clear", clear.status());
  settings->clear = *clear;
  return {};
}

}  // namespace

Status ReadStreamAlarm(const ConfigEntries& entries, const StreamKeys& keys,
                       StreamSettings* stream) {
  const std::string& place = entries.streams.at(stream->name).alarm;
  if (place.empty()) return {};
  const StreamKeys mine(entries, stream->name, "stream.alarm");
  const std::string origin = place + ": [stream." + stream->name + ".alarm]";
  if (!mine.Given("when"))
    return InvalidArgument(origin +
                           ": does not say what raises it; write for example when = "
                           "\"" +
                           stream->forecast.TargetField(0).name + ".forecast > 30\"");
  if (stream->has_broker && !mine.Given("publish"))
    return InvalidArgument(origin +
                           ": does not say where it goes; write for example publish = "
                           "\"sensors/{device}/alarm\"");
  MURMURATE_RETURN_IF_ERROR(ReadConditions(mine, *stream, &stream->forecast.alarm.emplace()));
  if (!stream->has_broker) {
    for (const char* key : {"publish", "retain"})
      if (mine.Given(key)) return mine.Superfluous(key, kNoBroker);
    return {};
  }
  auto topic = TopicTemplate::Parse(mine.Text("publish"), stream->subscribe);
  if (!topic.ok()) return mine.Blame("publish", topic.status());
  for (const char* key : {"publish", "metrics", "committed", "status"})
    if (keys.Text(key) == mine.Text("publish"))
      return mine.Refuse("publish", std::string("a topic of its own, because ") + key +
                                        " goes there; choose another");
  if (stream->labels && topic->Meets(stream->labels->topic))
    return mine.Refuse("publish", "a topic that label_topic does not read; choose another");
  stream->alarm = {mine.Text("when"), *std::move(topic), *mine.Get<bool>("retain")};
  return {};
}

}  // namespace murmurate
