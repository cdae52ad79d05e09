// Reads [stream.NAME.alarm].
#include <utility>

#include "server/stream/stream_keys.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

Status ReadConditions(const SectionView& keys, const AlarmDraft& alarm,
                      const ForecastSettings& forecast, AlarmSettings* settings) {
  std::vector<std::string> targets;
  for (std::size_t i = 0; i < forecast.targets.size(); ++i)
    targets.push_back(forecast.TargetField(i).name);
  const auto read = [&](const std::string& text) {
    return AlarmCondition::Parse(text, targets, forecast.quantiles.size() > 1);
  };
  const auto when = read(alarm.when);
  if (!when.ok()) return keys.Blame("when", when.status());
  settings->when = *when;
  settings->rows = static_cast<std::uint32_t>(alarm.rows);
  if (alarm.clear.empty()) return {};
  const auto clear = read(alarm.clear);
  if (!clear.ok()) return keys.Blame("clear", clear.status());
  settings->clear = *clear;
  return {};
}

}  // namespace

Status ReadStreamAlarm(const ConfigEntries& entries, const StreamDraft& draft,
                       StreamSettings* stream) {
  const std::string& place = entries.streams.at(stream->name).alarm;
  if (place.empty()) return {};
  const SectionView keys = StreamAlarmKeys().ViewAt(entries, "stream." + stream->name + ".alarm.");
  const AlarmDraft alarm = StreamAlarmKeys().Read(keys);
  const std::string origin = place + ": [stream." + stream->name + ".alarm]";
  if (alarm.when.empty())
    return InvalidArgument(origin +
                           ": does not say what raises it; write for example when = "
                           "\"" +
                           stream->forecast.TargetField(0).name + ".forecast > 30\"");
  if (stream->has_broker && alarm.publish.empty())
    return InvalidArgument(origin +
                           ": does not say where it goes; write for example publish = "
                           "\"sensors/{device}/alarm\"");
  MURMURATE_RETURN_IF_ERROR(
      ReadConditions(keys, alarm, stream->forecast, &stream->forecast.alarm.emplace()));
  if (!stream->has_broker) return keys.NoneOf({"publish", "retain"}, kNoBroker);
  auto topic = TopicTemplate::Parse(alarm.publish, stream->subscribe);
  if (!topic.ok()) return keys.Blame("publish", topic.status());
  for (const auto& [key, other] : draft.Answers())
    if (*other == alarm.publish)
      return keys.Refuse("publish", std::string("a topic of its own, because ") + key +
                                        " goes there; choose another");
  if (stream->labels && topic->Meets(stream->labels->topic))
    return keys.Refuse("publish", "a topic that label_topic does not read; choose another");
  stream->alarm = {alarm.when, *std::move(topic), alarm.retain};
  return {};
}

}  // namespace murmurate
