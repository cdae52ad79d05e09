// StopByMetric: what hooks share that end the run by the values of one metric after each batch.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "server/hooks/named_metrics.h"
#include "server/hooks/stopping.h"

namespace murmurate {

/// A metric that has no value is said once (MetricWait).
class StopByMetric : public Hook {
 public:
  StopByMetric(std::string metric, const HookTools& tools)
      : stopping_(tools), wait_(std::move(metric)) {}

  HookMoments wants() const final { return Bit(HookMoment::kAfterBatch); }
  std::string done() const final { return stopping_.done(); }
  Status OnEvent(const HookEvent& event) final {
    if (event.moment == HookMoment::kEnd) return {};
    std::string sentence;
    const auto value = wait_.Look(event, &sentence);
    if (!sentence.empty()) return InvalidArgument(sentence);
    const std::string why = value ? WhyStop(*value, event.steps) : "";
    if (!why.empty()) stopping_.Stop(why);
    return {};
  }

 private:
  /// Why the run ends now that the metric has this value after so many steps; "": it goes on.
  virtual std::string WhyStop(double value, std::uint64_t steps) = 0;

  Stopping stopping_;
  MetricWait wait_;
};

}  // namespace murmurate
