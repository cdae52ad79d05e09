#include "server/stream/stream_labels.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace murmurate {

Result<StreamLabels> StreamLabels::Make(const StreamSettings& settings) {
  StreamLabels labels;
  if (!settings.labels) return labels;
  labels.targets_ = settings.forecast.targets.size();
  labels.shared_ = settings.labels->share_topic;
  if (labels.shared_) return labels;
  auto reader = PayloadReader::Make(settings.labels->payload);
  if (!reader.ok()) return reader.status();
  labels.topic_ = settings.labels->topic;
  labels.reader_ = *std::move(reader);
  return labels;
}

Refusal StreamLabels::Consume(std::string_view topic, std::string_view payload,
                              std::int64_t arrival_ns, Forecaster* forecaster) {
  if (!reader_) return Refusal::kUnknownTopic;
  Refusal refusal = topic_.Match(topic, &levels_);
  if (refusal != Refusal::kNone) return refusal;
  label_.device = topic_.DeviceOf(levels_);
  refusal = reader_->Read(payload, &label_);
  return refusal == Refusal::kNone ? forecaster->ConsumeLabel(label_, arrival_ns) : refusal;
}

Refusal StreamLabels::ConsumeEither(std::int64_t arrival_ns, Sample* message,
                                    Forecaster* forecaster) {
  const std::size_t fields = message->values.size() - targets_;
  label_.device = message->device;
  label_.id = message->id;
  label_.values.assign(message->values.end() - static_cast<std::ptrdiff_t>(targets_),
                       message->values.end());
  message->values.resize(fields);
  const bool has_fields = std::ranges::any_of(message->values, Usable);
  const bool has_label = std::ranges::all_of(label_.values, Usable);
  if (!has_fields || (has_label && forecaster->labels().Knows(label_)))
    return forecaster->ConsumeLabel(label_, arrival_ns);
  const std::uint64_t rows = forecaster->rows();
  const Refusal refusal = forecaster->Consume(*message, arrival_ns);
  if (refusal != Refusal::kNone || !has_label || forecaster->rows() == rows) return refusal;
  (void)forecaster->ConsumeLabel(label_, arrival_ns);  // a duplicate: one came before its sample
  return Refusal::kNone;
}

}  // namespace murmurate
