// Reads what [stream.NAME] says of labels that come later: label_topic and the keys beside it.
#include <algorithm>
#include <utility>

#include "server/stream/forecast_text.h"
#include "server/stream/stream_keys.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Strings = std::vector<std::string>;

/// Refuses what makes no sense where each row has a label of its own.
Status CheckCombination(const SectionView& keys, const StreamDraft& draft,
                        const StreamSettings& stream) {
  if (!stream.listen.empty())
    return keys.Superfluous("listen",
                            "labels come over a broker, and a stream that listens has no place for "
                            "them; take one of the two out, it or label_topic");
  if (!std::holds_alternative<std::monostate>(keys["horizon"].value))
    return keys.Superfluous("horizon",
                            "with label_topic the label of that very row is forecast; take one of "
                            "the two out");
  if (keys.Given("every"))
    return keys.Superfluous("every",
                            "with label_topic each message has an id and is a row; take one of the "
                            "two out");
  if (keys.Given("season"))
    return keys.Superfluous("season",
                            "with label_topic the naive forecast is the last label; take one of "
                            "the two out");
  if (stream.recurrent && stream.forecast.per_device_state)
    return keys.Refuse("state",
                       "\"window\", because a label that comes late cannot be learned from a state "
                       "that has gone on; write state = \"window\"");
  if (stream.payload.format == PayloadFormat::kFloats)
    return keys.Refuse("format",
                       "one that has room for an id, because a sample and its label find each "
                       "other by it; write format = \"json\", \"csv\" or \"flatbuffer\"");
  if (!draft.id)
    return keys.Blame("label_topic",
                      "nothing says which sample a label is for; write for example id = \"/id\"");
  if (stream.payload.format == PayloadFormat::kFlatBuffer && *draft.id != "id")
    return keys.Refuse("id", "\"id\", because a FlatBuffer has it there; write that");
  return {};
}

Status ReadTopic(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  const bool beside = draft.device.has_value();
  auto topic = TopicPattern::Parse(draft.label_topic, beside);
  if (!topic.ok()) return keys.Blame("label_topic", topic.status());
  const TopicPattern& subscribe = stream->subscribe;
  if (beside && topic->has_device() && subscribe.has_device())
    return keys.Superfluous("device",
                            "subscribe and label_topic have a {device} that says who sends; take "
                            "it out");
  const bool sample_names = subscribe.has_device() || beside;
  if (sample_names && !topic->has_device() && !beside)
    return keys.Refuse("label_topic",
                       "one with {device}, because nothing else says whose a label is; write for "
                       "example \"lab/{device}/result\", or say where the payload has it: device = "
                       "\"/device\"");
  if (!sample_names && topic->has_device())
    return keys.Refuse("label_topic",
                       "no {device}, because nothing says whose a sample is; take it out, or write "
                       "{device} in subscribe, too");
  const bool share = draft.ShareTopic();
  if (!share && topic->Meets(subscribe))
    return keys.Refuse("label_topic",
                       "the topics of subscribe, or ones that it does not read; write the same for "
                       "both, or choose others for one of the two");
  for (const auto& [key, answer] :
       {std::pair{"publish", &stream->publish}, std::pair{"metrics", &stream->metrics},
        std::pair{"committed", &stream->committed}})
    if (!share && *answer && (*answer)->Meets(*topic))
      return keys.Refuse(key, "a topic that label_topic does not read; choose another");
  if (const auto status = TopicTemplate::Parse(stream->status, subscribe);
      !stream->status.empty() && status.ok() && status->Meets(*topic))
    return keys.Refuse("status", "a topic that label_topic does not read; choose another");
  if (!share) stream->link.subscriptions.push_back({topic->filter(), draft.qos});
  stream->labels = StreamLabelSettings{*std::move(topic), {}, share};
  return {};
}

Status ReadTargets(const ConfigEntries& entries, const SectionView& keys, const Strings& names,
                   StreamSettings* stream) {
  ForecastSettings& forecast = stream->forecast;
  PayloadSettings& payload = stream->labels->payload;
  forecast.horizons = {0};
  for (const std::string& name : names) {
    if (std::ranges::find(forecast.fields, name, &StreamField::name) != forecast.fields.end())
      return keys.Refuse(
          "target", "what labels alone say, because a sample has no label yet; take \"" + name +
                        "\" out of fields, or take label_topic out");
    if (std::ranges::find(forecast.labels, name, &StreamField::name) != forecast.labels.end())
      return keys.Refuse("target", "each target once; take one of the two out");
    if (Status status = CheckTargetName(name); !status.ok()) return keys.Blame("target", status);
    auto field = ReadStreamField(entries, stream->name, name);
    if (!field.ok()) return field.status();
    forecast.targets.push_back(static_cast<int>(forecast.fields.size() + forecast.labels.size()));
    forecast.labels.push_back({name, field->unit});
    payload.fields.push_back(*std::move(field));
  }
  return {};
}

/// A message has the targets after the fields, where either may be missing.
Status ReadSharedPayload(const SectionView& keys, StreamSettings* stream) {
  if (keys.Given("label_header"))
    return keys.Superfluous("label_header",
                            "labels come to the topics of samples and have their columns; take it "
                            "out, and name those of both in header");
  PayloadSettings& payload = stream->payload;
  const std::vector<FieldSettings>& labels = stream->labels->payload.fields;
  payload.fields.insert(payload.fields.end(), labels.begin(), labels.end());
  payload.label_fields = labels.size();
  const auto reader = PayloadReader::Make(payload);
  if (reader.ok()) return {};
  return keys.Blame("label_topic", "of samples and labels: " + reader.status().message());
}

Status ReadPayload(const SectionView& keys, const StreamDraft& draft, StreamSettings* stream) {
  PayloadSettings& payload = stream->labels->payload;
  if (stream->labels->share_topic) return ReadSharedPayload(keys, stream);
  payload.format = stream->payload.format;
  payload.separator = stream->payload.separator;
  payload.max_bytes = stream->payload.max_bytes;
  payload.id = stream->payload.id;
  payload.header = draft.label_header;
  if (!stream->labels->topic.has_device()) payload.device = draft.device;
  if (keys.Given("label_header") && payload.format != PayloadFormat::kCsv)
    return keys.Superfluous("label_header",
                            "only CSV has columns; take it out, or write format = \"csv\"");
  const auto reader = PayloadReader::Make(payload);
  if (reader.ok()) return {};
  return keys.Blame("label_topic",
                    "of a label (its header is label_header): " + reader.status().message());
}

}  // namespace

Status ReadStreamLabels(const ConfigEntries& entries, const SectionView& keys,
                        const StreamDraft& draft, StreamSettings* stream) {
  if (!draft.has_labels())
    return keys.NoneOf({"id", "label_window", "early_labels", "label_header"},
                       "no labels come later; take it out, or write for example label_topic = "
                       "\"lab/{device}/result\"");
  MURMURATE_RETURN_IF_ERROR(CheckCombination(keys, draft, *stream));
  MURMURATE_RETURN_IF_ERROR(ReadTopic(keys, draft, stream));
  MURMURATE_RETURN_IF_ERROR(ReadTargets(entries, keys, draft.targets, stream));
  stream->forecast.label_window = draft.label_window;
  stream->forecast.early_labels = draft.early_labels;
  return ReadPayload(keys, draft, stream);
}

}  // namespace murmurate
