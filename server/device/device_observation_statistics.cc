#include "server/device/device_observation_statistics.h"

#include <algorithm>

#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kThreads = 256, kMostBlocks = 64;

std::vector<std::int32_t> WordsOf(const ModelSpec& spec) {
  std::vector<std::int32_t> words;
  if (spec.normalized_count() == 0) return words;
  const ObservationLayout layout(spec.row_space());
  for (const ObservationInput& input : layout.inputs()) {
    if (input.element != ObservationInput::Element::kFloat32) continue;
    for (int i = 0; i < input.elements; ++i)
      words.push_back(static_cast<std::int32_t>(input.offset_bytes / sizeof(float)) + i);
  }
  return words;
}

}  // namespace

DeviceObservationStatistics::DeviceObservationStatistics(const ModelSpec& spec,
                                                         const AlgorithmSettings& settings,
                                                         DeviceMemory* memory)
    : length_(settings.trajectory_length),
      row_words_(static_cast<int>(ObservationLayout(spec.row_space()).row_bytes() / sizeof(float))),
      words_(WordsOf(spec)) {
  if (!counts()) return;
  const ParameterLayout layout(spec);
  const std::size_t begin = layout.statistics.offset;
  count_at_ = layout.Find("statistics.observation.count").offset - begin;
  mean_at_ = layout.Find("statistics.observation.mean").offset - begin;
  variance_at_ = layout.Find("statistics.observation.variance").offset - begin;
  // Each block has 8 rows at a time, and no fewer than 64 altogether.
  blocks_ = std::clamp<std::uint32_t>(static_cast<std::uint32_t>(settings.batch_steps) / 64, 1,
                                      kMostBlocks);
  const MemoryPurpose purpose = MemoryPurpose::kWorkspace;
  word_ = memory->Plan<std::int32_t>(purpose, words_.size());
  sums_ = memory->Plan<double>(purpose, blocks_ * words_.size());
  squares_ = memory->Plan<double>(purpose, blocks_ * words_.size());
  rows_ = memory->Plan<double>(purpose, blocks_);
}

Grid DeviceObservationStatistics::grid() const {
  return {
      .blocks = blocks_,
      .rows = static_cast<std::uint32_t>((words_.size() + kObservedColumns - 1) / kObservedColumns),
      .threads = kThreads};
}

void DeviceObservationStatistics::Upload(Device* device, Stream stream) const {
  if (counts()) device->CopyIn(stream, word_.data(), words_.data(), word_.bytes());
}

void DeviceObservationStatistics::EnqueueUpdate(Device* device, Stream stream,
                                                const DevicePlan& plan, const float* observation,
                                                const float* weight, float* statistics) const {
  if (!counts()) return;
  const ObservedNumbers numbers{.plan = plan,
                                .length = length_,
                                .observation = observation,
                                .weight = weight,
                                .row_words = row_words_,
                                .count = static_cast<int>(words_.size()),
                                .word = word_.data()};
  device->Launch(stream, grid(), SumObservationsCall{.numbers = numbers, .parts = parts()});
  device->Launch(stream, grid(), SquareObservationsCall{.numbers = numbers, .parts = parts()});
  device->Launch(stream, Grid{.threads = kThreads},
                 MergeObservationsCall{.parts = parts(),
                                       .blocks = static_cast<int>(blocks_),
                                       .count = numbers.count,
                                       .rows = statistics + count_at_,
                                       .mean = statistics + mean_at_,
                                       .variance = statistics + variance_at_});
}

}  // namespace murmurate
