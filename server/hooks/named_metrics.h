// Metrics that a hook's keys name, and their values in an event.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/hooks/hook_event.h"

namespace murmurate {

/// The value in the reading of an event; nothing where it is not measured (yet).
std::optional<double> NumberIn(const HookEvent& event, const std::string& metric);

/// "rollout/ep_rew_mean 23.4, train/value_loss 0.2": those that have a value.
std::string NumbersInWords(const HookEvent& event, const std::vector<std::string>& metrics);

/// MetricWait says once, after the 20th event without a value of `metric`, which there are.
class MetricWait {
 public:
  explicit MetricWait(std::string metric) : metric_(std::move(metric)) {}
  /// The value; nothing: there is none, and `*sentence` is set when that is to be said.
  std::optional<double> Look(const HookEvent& event, std::string* sentence);

 private:
  const std::string metric_;
  int without_ = 0;
};

}  // namespace murmurate
