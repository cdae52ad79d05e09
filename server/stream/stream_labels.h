// StreamLabels: the labels of a stream that come later, from a message to the Forecaster: to topics
// of their own, or to those of the samples.
//
// One thread. Nothing to read where the stream has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "murmurate/status.h"
#include "server/stream/config_stream.h"
#include "server/stream/forecaster.h"

namespace murmurate {

class StreamLabels {
 public:
  static Result<StreamLabels> Make(const StreamSettings& settings);

  /// kUnknownTopic: it is no label's. Else what became of it.
  Refusal Consume(std::string_view topic, std::string_view payload, std::int64_t arrival_ns,
                  Forecaster* forecaster);
  /// Samples and labels come to the same topics.
  bool share_topic() const { return shared_; }
  /// A message of such a topic, whose values are those of the fields, then those of the targets. It
  /// is a label if it has all targets, and either no field or the id of a sample that is known; else
  /// it is a sample, with its label when it has all targets. `message` is changed.
  Refusal ConsumeEither(std::int64_t arrival_ns, Sample* message, Forecaster* forecaster);

 private:
  StreamLabels() = default;

  TopicPattern topic_;
  std::optional<PayloadReader> reader_;  ///< none: no labels come to topics of their own
  bool shared_ = false;
  std::size_t targets_ = 0;
  Sample label_;
  std::vector<std::string_view> levels_;
};

}  // namespace murmurate
