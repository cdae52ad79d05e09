#include "server/stream/stream_labels.h"

#include <utility>

namespace murmurate {

Result<StreamLabels> StreamLabels::Make(const StreamSettings& settings) {
  StreamLabels labels;
  if (!settings.labels) return labels;
  auto reader = PayloadReader::Make(settings.labels->payload);
  if (!reader.ok()) return reader.status();
  labels.topic_ = settings.labels->topic;
  labels.reader_ = *std::move(reader);
  return labels;
}

Refusal StreamLabels::Consume(std::string_view topic, std::string_view payload,
                              Forecaster* forecaster) {
  if (!reader_) return Refusal::kUnknownTopic;
  Refusal refusal = topic_.Match(topic, &levels_);
  if (refusal != Refusal::kNone) return refusal;
  label_.device = topic_.DeviceOf(levels_);
  refusal = reader_->Read(payload, &label_);
  return refusal == Refusal::kNone ? forecaster->ConsumeLabel(label_) : refusal;
}

}  // namespace murmurate
