// StreamLabels: the labels of a stream that come later, from a message to the Forecaster.
//
// One thread. Nothing to read where the stream has none.
#pragma once

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
  Refusal Consume(std::string_view topic, std::string_view payload, Forecaster* forecaster);

 private:
  StreamLabels() = default;

  TopicPattern topic_;
  std::optional<PayloadReader> reader_;  ///< none: no labels come later
  Sample label_;
  std::vector<std::string_view> levels_;
};

}  // namespace murmurate
