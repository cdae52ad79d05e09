// Models that learn from a replay, with settings and batches, for tests of devices that train them.
#pragma once

#include <string>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// settings.batch_steps are five updates of windows of four steps, of which three go to a device at
/// once.
struct ReplayCase {
  std::string name;
  ModelSpec spec;
  AlgorithmSettings settings;
  bool masks = false;
};

/// dqn: small, with branches and masks, with stacked pictures.
std::vector<ReplayCase> ChoiceCases();
/// sac of numbers: small, with pictures.
std::vector<ReplayCase> SoftCases();

/// A batch of windows as a replay gives it: a weight in the first row of each.
TrainingBatch ReplayWindows(const ReplayCase& one, std::uint64_t seed);

/// Parameters whose targets are others than what they follow.
std::vector<float> ParametersApart(const ModelSpec& spec);

}  // namespace murmurate
