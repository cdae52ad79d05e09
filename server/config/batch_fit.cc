#include "server/config/batch_fit.h"

#include <algorithm>
#include <cstdio>

#include "server/experience/experience_channel.h"
#include "server/learn/algorithm.h"
#include "server/replay/replay_store.h"

namespace murmurate {
namespace {

std::string MebibytesInWords(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1u << 20));
  return text;
}

/// A larger batch than this makes updates too rare, however many play.
constexpr std::int64_t kMostFittedSteps = 1 << 15;

std::size_t TrajectoryBytes(const ModelSpec& spec, int length) {
  return TrajectoryLayout(spec, length).block_bytes;
}

std::size_t AllBatchBytes(const ModelSettings& settings, int length, int trajectories) {
  const int batches =
      ExperienceChannel::BatchesFor(settings.hogwild ? settings.hogwild->threads : 1);
  return static_cast<std::size_t>(batches) *
         TrainingBatch::BytesFor(TrajectoryLayout(settings.spec, length), trajectories);
}

}  // namespace

Result<std::string> FitBatches(const std::string& model, std::size_t most_trajectory_bytes,
                               ModelSettings* settings) {
  const ModelSpec& spec = settings->spec;
  const int wanted_length = settings->algorithm.trajectory_length;
  const int wanted_steps = settings->algorithm.batch_steps;
  int length = wanted_length;
  while (length > 1 && TrajectoryBytes(spec, length) > most_trajectory_bytes) length /= 2;
  if (const std::size_t least = TrajectoryBytes(spec, length); least > most_trajectory_bytes)
    return InvalidArgument("model " + model + ": a trajectory of one step takes " +
                           std::to_string(least) + " bytes, expected at most the " +
                           std::to_string(most_trajectory_bytes) +
                           " of a message; let the game show less, or uint8 in place of float32");
  int trajectories = wanted_steps / length;
  while (trajectories > 1 && AllBatchBytes(*settings, length, trajectories) > kMostBatchBytes)
    trajectories /= 2;
  std::string said;
  if (length != wanted_length)
    said = "; a trajectory of " + std::to_string(wanted_length) + " steps takes " +
           MebibytesInWords(TrajectoryBytes(spec, wanted_length)) + " and a message holds " +
           MebibytesInWords(most_trajectory_bytes) + ", so algorithm.trajectory_length is " +
           std::to_string(length) + " here";
  const int steps = trajectories * length;
  const std::size_t wanted_bytes = AllBatchBytes(*settings, length, wanted_steps / length);
  if (wanted_bytes > kMostBatchBytes)
    said += "; its batches of " + std::to_string(wanted_steps) + " steps take " +
            MebibytesInWords(wanted_bytes) + " and may take " + MebibytesInWords(kMostBatchBytes) +
            ", so algorithm.batch_steps is " + std::to_string(steps) + " here";
  else if (steps != wanted_steps)
    said += "; algorithm.batch_steps is " + std::to_string(steps) + ", a multiple of it";
  const int minibatch = settings->algorithm.minibatch;
  settings->algorithm = WithShape(settings->algorithm, {length, trajectories}, spec.recurrent());
  if (!settings->sizing.steps_free) settings->algorithm.minibatch = std::min(minibatch, steps);
  std::int64_t most = steps;
  while (most < kMostFittedSteps &&
         AllBatchBytes(*settings, length, static_cast<int>(2 * most / length)) <= kMostBatchBytes)
    most *= 2;
  settings->sizing.most_steps = static_cast<int>(most);
  return said.empty() ? said : "model " + model + ": " + said.substr(2);
}

std::uint64_t StoreBytes(const ModelSettings& settings) {
  const AlgorithmSettings& algorithm = settings.algorithm;
  if (algorithm.kind->store_bytes == nullptr) return 0;
  const TrajectoryLayout layout(settings.spec, algorithm.trajectory_length);
  const int stores = settings.hogwild ? settings.hogwild->threads : 1;
  return static_cast<std::uint64_t>(stores) * algorithm.kind->store_bytes(algorithm, layout);
}

Status CheckStoresFit(const std::string& model, const ModelSettings& settings) {
  const Status status = ReplayStore::CheckRoom(settings.algorithm.replay, StoreBytes(settings));
  if (status.ok()) return status;
  return Status(status.code(), "model " + model + ": " + status.message());
}

}  // namespace murmurate
