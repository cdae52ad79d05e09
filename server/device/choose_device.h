// ChooseDevice: what device = "auto" decides, by arithmetic that it says in one sentence: a GPU
// where learning on this processor is slower than play and than a GPU, by enough to be worth
// opening one. Pure: every number comes from outside.
#pragma once

#include <optional>
#include <string>

#include "server/compute/device/device.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// What it takes to learn from one batch, wherever that is done.
struct LearningWork {
  double batch_steps = 0;  ///< rows of a batch
  double rows = 0;         ///< that are learned from, all epochs together
  double updates = 0;      ///< of a batch
  double flops_a_row = 0;  ///< forward and backward, all networks
  double parameters = 0;   ///< that an update steps
  double launches = 0;     ///< of kernels, for one update
};
LearningWork WorkOf(const ModelSpec& spec, const AlgorithmSettings& settings);

/// How fast a processor or a device learns.
struct LearningSpeed {
  double flops_a_second = 0;
  double bytes_a_second = 0;  ///< of memory, for the optimizer
  double launch_s = 0;        ///< from one kernel to the next
};
/// Of a GPU: 40 % of its rate by data sheet, which goes with its multiprocessors. An H200 has 132.
LearningSpeed SpeedOfGpu(int multiprocessors, DevicePrecision precision);
/// `flops_a_second` of all threads that learn together.
LearningSpeed SpeedOfProcessor(double flops_a_second);
inline constexpr int kMostMultiprocessors = 132;

struct DeviceQuestion {
  LearningWork work;
  LearningSpeed processor, gpu;
  std::string gpu_name = "cuda:0";
  double play_s = 0;          ///< that actors need for the steps of a batch; 0: nothing plays
  bool play_assumed = false;  ///< not measured: kAssumedStepsASecond
  std::optional<double> batches = {};  ///< of the run; nothing: it has no budget
};
inline constexpr double kAssumedStepsASecond = 1e5;  ///< of all actors; few games are faster
inline constexpr double kWorthTimes = 2.0;           ///< as fast, or a GPU is left alone
inline constexpr double kOpeningS = 3.0;             ///< a GPU's context and libraries

struct DeviceChoice {
  bool gpu = false;
  std::string sentence;  ///< why, with the numbers
};
DeviceChoice ChooseDevice(const DeviceQuestion& question);

}  // namespace murmurate
