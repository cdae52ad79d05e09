#include "server/device/device_rank_mean.h"

#include "server/compute/device/calls/optimizer.h"
#include "server/compute/device/calls/ranks.h"
#include "server/compute/device/rank_sums.h"
#include "server/device/device_optimizer.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kThreads = 256;

}  // namespace

DeviceRankMean::DeviceRankMean(std::size_t count, std::size_t value_begin, int norm_sums,
                               DeviceMemory* memory)
    : count_(count),
      value_begin_(value_begin),
      norm_sums_(norm_sums),
      parts_(memory->Plan<double>(MemoryPurpose::kWorkspace,
                                  norm_sums < 0 ? 0 : 2 * GradientNormGrid(count).blocks)) {}

void DeviceRankMean::Enqueue(Device* device, Stream stream, TrainingControl* control,
                             float* gradient, bool joins) const {
  const Grid norm = GradientNormGrid(count_), all = Grid::For(count_, kThreads);
  const bool counts = norm_sums_ >= 0 && !joins;
  if (counts)
    device->Launch(stream, norm,
                   GradientNormCall{.control = control,
                                    .gradient = gradient,
                                    .count = count_,
                                    .value_begin = value_begin_,
                                    .parts = parts_.data(),
                                    .joined = nullptr});
  device->Launch(
      stream, all,
      ShareGradientCall{.control = control, .gradient = gradient, .count = count_, .joins = joins});
  if (counts)
    device->Launch(stream, Grid{.threads = kThreads},
                   CountOwnNormsCall{.control = control,
                                     .parts = parts_.data(),
                                     .blocks = static_cast<int>(norm.blocks),
                                     .norm_sums = norm_sums_});
  device->rank_sums()->Sum(stream, gradient, count_ + 1);
  device->Launch(stream, all, DivideByRanksCall{.gradient = gradient, .count = count_});
}

}  // namespace murmurate
