#include "server/device/device_returns.h"

#include <algorithm>
#include <cmath>

#include "server/learn/on_policy_sums.h"
#include "shared/core/check.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {
namespace {

using namespace on_policy_sums;

static_assert(kStepTerminated == kTerminatedFlag && kStepTruncated == kTruncatedFlag);
static_assert(kDeviationRows == kDeviation + 1);

constexpr std::uint32_t kThreads = 256, kMostBlocks = 128, kTraceThreads = 32;

constexpr ReturnSums kPlaces = {.explained_variance = kExplainedVariance,
                                .lag_kl = kLagKl,
                                .clip = kClip,
                                .rows = kRows,
                                .effective = kEffective,
                                .truncated = kTruncated,
                                .corrected_rows = kCorrectedRows,
                                .target = kTarget,
                                .target_spread = kTargetSpread,
                                .advantage = kAdvantage,
                                .advantage_spread = kAdvantageSpread};

/// Of kernels over the plan's rows, of which there are `most`.
Grid GridOf(int most) {
  Grid grid = Grid::For(static_cast<std::size_t>(most), kThreads);
  grid.blocks = std::min(grid.blocks, kMostBlocks);
  return grid;
}

Grid SeenGrid(int rows) { return Grid::For(static_cast<std::size_t>(rows), kThreads); }

}  // namespace

bool ScansReturns(int length, int trajectories) {
  // A thread waits for 8 steps' numbers at a time, and adds in 64 bits.
  constexpr double kStepSeconds = 45e-9, kScanSeconds = 1e-6, kLaunchSeconds = 2e-6;
  // Of a large GPU. A step has 25 bytes; a scan reads 17 of them twice.
  constexpr double kThreadsAtOnce = 132 * 64, kMemoryRate = 4e12, kBytes = 25, kScanBytes = 42;
  const double steps = double{1} * length * trajectories;
  const double traced_s =
      std::max(length * kStepSeconds * std::max(1.0, trajectories / kThreadsAtOnce),
               steps * kBytes / kMemoryRate);
  const double scanned_s =
      std::max(2 * std::ceil(length / double{kScanThreads}) * kStepSeconds + kScanSeconds,
               steps * kScanBytes / kMemoryRate);
  return scanned_s + kLaunchSeconds <= traced_s;
}

DeviceReturns::DeviceReturns(const AlgorithmSettings& settings, bool weighs_advantage, int max_seen,
                             DeviceMemory* memory)
    : settings_(settings), weighs_advantage_(weighs_advantage) {
  for (auto* column : {&value_, &next_value_, &log_ratio_, &start_log_prob_, &target_, &advantage_})
    *column = memory->Plan<float>(MemoryPurpose::kBatches,
                                  static_cast<std::size_t>(settings.batch_steps));
  const std::size_t blocks = GridOf(settings.batch_steps).blocks;
  means_ = memory->Plan<double>(MemoryPurpose::kWorkspace, blocks * ReturnParts::kMeans);
  spreads_ = memory->Plan<double>(MemoryPurpose::kWorkspace, blocks * ReturnParts::kSpreads);
  seen_parts_ =
      memory->Plan<double>(MemoryPurpose::kWorkspace, std::size_t{2} * SeenGrid(max_seen).blocks);
}

ReturnColumns DeviceReturns::columns() const {
  return {.value = value_.data(),
          .next_value = next_value_.data(),
          .log_ratio = log_ratio_.data(),
          .start_log_prob = start_log_prob_.data(),
          .target = target_.data(),
          .advantage = advantage_.data()};
}

void DeviceReturns::EnqueueClear(Device* device, Stream stream) const {
  for (const auto* column :
       {&value_, &next_value_, &log_ratio_, &start_log_prob_, &target_, &advantage_})
    device->ClearMemory(stream, column->data(), column->bytes());
}

void DeviceReturns::EnqueueRecord(Device* device, Stream stream, const DeviceSeenRows& seen,
                                  const float* behaviour_log_prob, TrainingControl* control) const {
  const Grid grid = SeenGrid(seen.rows);
  MURMURATE_CHECK(std::size_t{2} * grid.blocks <= seen_parts_.size(), "too many rows");
  device->Launch(stream, grid,
                 RecordRowsCall{.columns = columns(),
                                .row = seen.row,
                                .source = seen.source,
                                .values = seen.values,
                                .log_prob = seen.log_prob,
                                .behaviour = behaviour_log_prob,
                                .deviation = seen.deviation,
                                .rows = seen.rows,
                                .parts = seen_parts_.data()});
  if (seen.deviation == nullptr) return;
  device->Launch(stream, Grid{},
                 FinishRecordCall{.control = control,
                                  .parts = seen_parts_.data(),
                                  .blocks = static_cast<int>(grid.blocks),
                                  .first = kDeviation});
}

void DeviceReturns::EnqueueTrace(Device* device, Stream stream,
                                 const ReturnsToTrace& returns) const {
  const auto slots = static_cast<std::uint32_t>(returns.plan.most_slots);
  if (ScansReturns(returns.length, returns.plan.most_slots))
    device->Launch(stream, {.blocks = slots, .threads = kScanThreads}, ScanReturnsCall{returns});
  else
    device->Launch(stream, Grid::For(slots, kTraceThreads), TraceReturnsCall{returns});
}

void DeviceReturns::EnqueueCompute(Device* device, Stream stream, const DevicePlan& plan,
                                   const DeviceReturnBatch& batch, TrainingControl* control) const {
  const bool corrects = settings_.staleness == StalenessPolicy::kVtrace;
  const Grid grid = GridOf(settings_.batch_steps);
  EnqueueTrace(device, stream,
               {.plan = plan,
                .columns = columns(),
                .reward = batch.reward,
                .flags = batch.flags,
                .length = batch.length,
                .gamma = settings_.gamma,
                .lambda = settings_.lambda,
                .rho_bar = settings_.rho_bar,
                .c_bar = settings_.c_bar,
                .rho_pg_bar = settings_.rho_pg_bar,
                .corrects = corrects,
                .weighs = weighs_advantage_});
  device->Launch(
      stream, grid,
      MeasureRowsCall{
          .plan = plan, .columns = columns(), .rho_bar = settings_.rho_bar, .parts = parts()});
  device->Launch(stream, grid,
                 MeasureSpreadCall{.plan = plan, .columns = columns(), .parts = parts()});
  device->Launch(stream, grid,
                 NormalizeAdvantagesCall{.control = control,
                                         .plan = plan,
                                         .columns = columns(),
                                         .parts = parts(),
                                         .sums = kPlaces,
                                         .normalizes = settings_.normalize_advantage,
                                         .corrects = corrects});
}

void DeviceReturns::EnqueueChange(Device* device, Stream stream, const DeviceSeenRows& seen,
                                  const DevicePlanCounts* counts, TrainingControl* control) const {
  const Grid grid = SeenGrid(seen.rows);
  MURMURATE_CHECK(std::size_t{2} * grid.blocks <= seen_parts_.size(), "too many rows");
  device->Launch(stream, grid,
                 MeasureChangeCall{.row = seen.row,
                                   .source = seen.source,
                                   .log_prob = seen.log_prob,
                                   .start_log_prob = start_log_prob_.data(),
                                   .rows = seen.rows,
                                   .parts = seen_parts_.data()});
  device->Launch(stream, Grid{},
                 FinishChangeCall{.control = control,
                                  .counts = counts,
                                  .parts = seen_parts_.data(),
                                  .blocks = static_cast<int>(grid.blocks),
                                  .weight_sum = kWeight,
                                  .kl_sum = kApproxKl});
}

}  // namespace murmurate
