// StreamInput: what becomes of a message of a broker: a sample or a label for the Forecaster, or a
// refusal. Counts them, and those of samples that came another way.
//
// One thread. Keeps its memory from one message to the next.
#pragma once

#include <string_view>
#include <vector>

#include "murmurate/status.h"
#include "server/stream/config_stream.h"
#include "server/stream/forecaster.h"
#include "server/stream/mqtt_connection.h"
#include "server/stream/stream_answers.h"
#include "server/stream/stream_labels.h"

namespace murmurate {

class StreamInput {
 public:
  static Result<StreamInput> Make(const StreamSettings& settings);

  /// `arrival_ns`: since 1970 began. `answers` gets the levels of the topic.
  void Consume(const MqttMessage& message, std::int64_t arrival_ns, StreamAnswers* answers,
               Forecaster* forecaster);

  RefusalCounts& counts() { return counts_; }
  const RefusalCounts& counts() const { return counts_; }
  /// One per field, over all payloads that could be read.
  std::span<const FieldCounts> field_counts() const { return reader_.counts(); }

 private:
  StreamInput(TopicPattern subscribe, PayloadReader reader, StreamLabels labels);
  Refusal Read(const MqttMessage& message, std::int64_t arrival_ns, StreamAnswers* answers,
               Forecaster* forecaster);

  TopicPattern subscribe_;
  PayloadReader reader_;
  StreamLabels labels_;
  Sample sample_;
  std::vector<std::string_view> levels_;
  RefusalCounts counts_;
};

}  // namespace murmurate
