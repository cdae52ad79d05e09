// CheckpointSettings and EvaluationSettings: [checkpoint] and [evaluation]; the keys of [metrics].
#pragma once

#include <cstdint>

#include "server/metrics/metrics_settings.h"
#include "server/operate/checkpoint.h"

namespace murmurate {

template <typename S>
class Keys;

struct CheckpointSettings {
  std::uint64_t every_steps = 0;  ///< 0: not by steps
  double every_s = 60.0;          ///< 0: not by time
  Retention retention;
};

const Keys<CheckpointSettings>& CheckpointKeys();

/// `episodes` and `every`: the learner's own evaluation, of models that play run.environment.
struct EvaluationSettings {
  int episodes = 100;
  double every = 0.05;  ///< of run.steps; 0: never
  double share = 0.05;  ///< of the episodes of other games; 0: none
};

const Keys<EvaluationSettings>& EvaluationKeys();
const Keys<MetricsSettings>& MetricsKeys();

}  // namespace murmurate
