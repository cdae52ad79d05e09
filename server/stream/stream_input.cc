#include "server/stream/stream_input.h"

#include <utility>

namespace murmurate {

Result<StreamInput> StreamInput::Make(const StreamSettings& settings) {
  auto reader = PayloadReader::Make(settings.payload);
  if (!reader.ok()) return reader.status();
  auto labels = StreamLabels::Make(settings);
  if (!labels.ok()) return labels.status();
  return StreamInput(settings.subscribe, *std::move(reader), *std::move(labels));
}

StreamInput::StreamInput(TopicPattern subscribe, PayloadReader reader, StreamLabels labels)
    : subscribe_(std::move(subscribe)), reader_(std::move(reader)), labels_(std::move(labels)) {}

void StreamInput::Consume(const MqttMessage& message, std::int64_t arrival_ns,
                          StreamAnswers* answers, Forecaster* forecaster) {
  counts_.Add(Read(message, arrival_ns, answers, forecaster));
}

Refusal StreamInput::Read(const MqttMessage& message, std::int64_t arrival_ns,
                          StreamAnswers* answers, Forecaster* forecaster) {
  if (message.retained) return Refusal::kRetained;
  Refusal refusal = subscribe_.Match(message.topic, &levels_);
  if (refusal == Refusal::kUnknownTopic)
    return labels_.Consume(message.topic, message.payload, arrival_ns, forecaster);
  if (refusal != Refusal::kNone) return refusal;
  sample_.device = subscribe_.DeviceOf(levels_);
  refusal = reader_.Read(message.payload, &sample_);
  if (refusal != Refusal::kNone) return refusal;
  answers->Remember(sample_.device, levels_);  // before a forecast of it may go out
  if (labels_.share_topic()) return labels_.ConsumeEither(arrival_ns, &sample_, forecaster);
  return forecaster->Consume(sample_, arrival_ns);
}

}  // namespace murmurate
