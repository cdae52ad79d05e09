#include "server/device/choose_device.h"

#include <algorithm>
#include <string_view>

#include "server/learn/algorithm.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

constexpr double kBytesAParameter = 28;  ///< of Adam: gradient, parameter and two moments
constexpr double kShareOfRate = 0.4;     ///< that training reaches of a data sheet's rate

/// A forward pass, the gradient of the weights and that of the input cost about the same. What the
/// first layer reads has no gradient.
constexpr double kPasses = 3;
/// Gather, loss and its sums, norm, step.
constexpr double kLaunchesOfAnUpdate = 6;

/// `first`: they read the rows themselves.
void AddLayers(const std::vector<PlannedLayer>& layers, bool first, double steps,
               LearningWork* work) {
  for (const PlannedLayer& layer : layers) {
    const double passes = first ? kPasses - 1 : kPasses;
    work->flops_a_row += passes * layer.flops();
    work->launches += layer.layer.recurrent() ? 2 * steps + passes : passes;
    first = false;
  }
}

void AddNetwork(const NetworkPlan& plan, double steps, LearningWork* work) {
  bool encoded = false;
  for (const PlannedInput& input : plan.inputs) {
    AddLayers(input.layers, true, steps, work);
    encoded |= !input.layers.empty();
  }
  AddLayers(plan.trunk, !encoded, steps, work);
}

std::string Milliseconds(double seconds) {
  return FormatNumber(seconds < 0.01 ? "%.2g ms" : "%.0f ms", 1e3 * seconds);
}

double BatchSeconds(const LearningWork& work, const LearningSpeed& speed) {
  const double update_s =
      work.parameters * kBytesAParameter / speed.bytes_a_second + work.launches * speed.launch_s;
  return work.rows * work.flops_a_row / speed.flops_a_second + work.updates * update_s;
}

}  // namespace

LearningWork WorkOf(const ModelSpec& spec, const AlgorithmSettings& settings) {
  LearningWork work;
  work.batch_steps = settings.batch_steps;
  const bool replays = settings.kind->replays;
  work.rows = work.batch_steps * (replays ? settings.replay.samples_per_insert : settings.epochs);
  work.updates = work.rows / (replays ? settings.replay.minibatch : settings.minibatch);
  work.parameters = static_cast<double>(ParameterLayout(spec).trained_count());
  work.launches = kLaunchesOfAnUpdate;
  for (const NetworkSpec& network : spec.networks) {
    const NetworkPlan plan = *PlanNetwork(spec, network.name);
    if (plan.own_layers) AddNetwork(plan, settings.trajectory_length, &work);
    AddLayers({plan.head}, false, settings.trajectory_length, &work);
  }
  return work;
}

LearningSpeed SpeedOfGpu(int multiprocessors, DevicePrecision precision) {
  const double rate = precision == DevicePrecision::kFp32   ? 0.5e12
                      : precision == DevicePrecision::kTf32 ? 3e12
                                                            : 6e12;
  return {.flops_a_second = kShareOfRate * rate * multiprocessors,
          .bytes_a_second = 2e10 * multiprocessors,
          .launch_s = 2.5e-6};
}

LearningSpeed SpeedOfProcessor(double flops_a_second) {
  return {.flops_a_second = flops_a_second, .bytes_a_second = 2e10};
}

DeviceChoice ChooseDevice(const DeviceQuestion& question) {
  const LearningWork& work = question.work;
  const double cpu_s = BatchSeconds(work, question.processor);
  const double gpu_s = BatchSeconds(work, question.gpu);
  const std::string batch =
      "learning from a batch of " + WithCommas(static_cast<std::uint64_t>(work.batch_steps)) +
      " steps, " + WithCommas(static_cast<std::uint64_t>(work.updates)) + " updates, takes " +
      Milliseconds(cpu_s) + " here and " + Milliseconds(gpu_s) + " on " + question.gpu_name;
  const auto cpu = [&](const std::string& why) {
    return DeviceChoice{false, "cpu: " + batch + why};
  };
  if (gpu_s >= cpu_s) return cpu("");
  if (kWorthTimes * gpu_s >= cpu_s) return cpu(", which is not twice as fast");
  const std::string play =
      (question.play_assumed
           ? "actors, at " + WithCommas(static_cast<std::uint64_t>(kAssumedStepsASecond)) +
                 " steps a second, need "
           : "the actors need ") +
      Milliseconds(question.play_s) + " to play it";
  if (question.play_s >= cpu_s) return cpu(", but " + play);
  const double saved_s = cpu_s - std::max(gpu_s, question.play_s);
  if (question.batches && *question.batches * saved_s < kOpeningS)
    return cpu(", which saves " + FormatNumber("%.2g s", *question.batches * saved_s) +
               " of the whole run, and opening a GPU takes " + FormatNumber("%.0f s", kOpeningS));
  return {true, question.gpu_name + ": " + batch + (question.play_s > 0 ? "; " + play : "")};
}

}  // namespace murmurate
