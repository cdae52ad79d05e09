// What learning waits for when a checkpoint is due: the copy of what a learner knows beside its
// weights (Adam: two moments a parameter), into the memory of the checkpoint before and into fresh
// memory, against one core's memcpy of as many bytes.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "server/learn/learner.h"
#include "server/measure/limits.h"
#include "server/operate/spare_state.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

/// As the learning thread does it.
double SecondsOfSave(const Learner& learner, SpareState* spare) {
  const auto begin = std::chrono::steady_clock::now();
  SavedState state = spare->Acquire();
  learner.Save(&state);
  const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
  spare->Release(std::move(state));
  return waited.count();
}

void PrintWait(const std::string& name, double wait, double copy) {
  Print({.name = name,
         .unit = "ms",
         .ours = wait * 1e3,
         .limit = copy * 1e3,
         .target = 100,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

void Measure(int inputs, int width, int layers) {
  PolicyAndValue spec{.spaces = {Box({inputs}), Discrete(2)}, .trunk = {}, .separate_value = false};
  spec.trunk.assign(static_cast<std::size_t>(layers), {width, Activation::kTanh});
  AlgorithmSettings settings;
  settings.trajectory_length = 8;
  settings.batch_steps = settings.minibatch = 8;
  const Learner learner(spec, settings, 1);
  const double bytes = 2.0 * sizeof(float) * static_cast<double>(learner.layout().trained_count());
  double wait = 0, fresh = 0, copy = 1e9;
  SpareState spare;
  (void)SecondsOfSave(learner, &spare);
  for (int turn = 0; turn < 7; ++turn) {
    SpareState none;
    fresh = std::max(fresh, SecondsOfSave(learner, &none));
    wait = std::max(wait, SecondsOfSave(learner, &spare));
    copy = std::min(copy, bytes / MeasureCopyBandwidth(static_cast<std::size_t>(bytes)));
  }
  const std::string name = "weights of " + std::to_string(static_cast<int>(bytes * 0.5e-6)) +
                           " MB, the longest of 7 waits";
  PrintWait(name, wait, copy);
  PrintWait(name + ", fresh memory", fresh, copy);
}

}  // namespace
}  // namespace murmurate

int main() {
  murmurate::Measure(64, 1250, 2);
  murmurate::Measure(64, 3500, 3);
  murmurate::Measure(64, 7000, 3);
}
