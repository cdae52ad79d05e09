// AnswerQueue: which forecast answers which sample of a SampleServer. A device has at most one row
// that waits for its forecast, and a row is its device's next forecast, so the sender of a waiting
// row is kept under the device's name.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/stream/forecast.h"
#include "server/stream/sample.h"
#include "server/stream/stream_settings.h"
#include "shared/transport/socket.h"
#include "shared/wire/messages.h"

namespace murmurate {

/// SampleOutcome is what became of a sample.
struct SampleOutcome {
  Refusal refusal = Refusal::kNone;
  bool made_rows = false;
  bool due = false;  ///< the last of them waits for its forecast
};

class AnswerQueue {
 public:
  /// Whom an answer is for.
  struct Asked {
    PeerId peer;
    std::uint64_t session = 0, number = 0;
    bool doubles = false;
  };
  using Answer = std::function<void(const Asked&, const wire::Body&)>;

  /// `settings` outlives it.
  AnswerQueue(const ForecastSettings& settings, Answer answer);

  /// A sample of this device is being taken: its forecast may come before EndSample. The name is
  /// valid until then.
  void BeginSample(const std::string& device);
  /// Answers the sample, or keeps for whom its forecast will be.
  void EndSample(const std::string& device, const SampleOutcome& outcome, const Asked& asked);
  /// A forecast of the stream: of a sample that waits it is the answer.
  void Give(const Forecast& forecast);

 private:
  struct Waiting {
    std::string device;
    Asked asked;
  };
  void FillForecast(const Forecast& forecast, wire::Forecast* answer) const;

  const ForecastSettings& settings_;
  const Answer answer_;
  std::vector<Waiting> waiting_;         ///< in the order of their rows
  std::size_t answered_ = 0;             ///< of waiting_, its first ones
  const std::string* taking_ = nullptr;  ///< the device of the sample being taken
  wire::Body forecast_ = wire::Forecast(), early_ = wire::Forecast();
  bool came_early_ = false;  ///< early_ is of a row of that device
};

}  // namespace murmurate
