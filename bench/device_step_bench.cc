#include "bench/device_step_bench.h"

#include "bench/device_bench.h"
#include "server/learn/rates.h"
#include "server/network/actor_critic.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "tests/device/random_batch.h"

namespace murmurate {

DeviceStepBench::DeviceStepBench(const DeviceStepRow& row, Device* device)
    : row_(row),
      device_(device),
      batch_(RandomBatch(row.spec, row.settings, 1)),
      planner_(row.spec, row.settings, 1),
      engine_(row.spec, row.settings, true, device->description().pictures) {}

Result<std::unique_ptr<DeviceStepBench>> DeviceStepBench::Make(const DeviceStepRow& row,
                                                               Device* device) {
  std::unique_ptr<DeviceStepBench> bench(new DeviceStepBench(row, device));
  MURMURATE_RETURN_IF_ERROR(bench->Start());
  return bench;
}

Status DeviceStepBench::Start() {
  const std::size_t free = device_.description().free_bytes;
  MURMURATE_RETURN_IF_ERROR(engine_.Start(&device_));
  InitializeParameters(row_.spec, 1, engine_.parameters().host());
  engine_.parameters().EnqueueUp();
  // The first update runs as it is, the second is recorded: both are in the first batch.
  (void)TimeBatch();
  nodes_ = device_.nodes();
  const std::size_t left = device_.description().free_bytes;
  taken_bytes_ = free > left ? free - left : 0;
  return {};
}

/// Seconds of one batch's updates.
double DeviceStepBench::TimeBatch() {
  const DeviceIdle idle(&device_);
  const BatchPlan& plan = planner_.Plan(batch_, Rates::Of(row_.settings), 0);
  engine_.BeginBatch(batch_, plan);
  idle.Wait();
  const std::int64_t start_ns = MonotonicNs();
  for (int update = 0; update < engine_.updates(); ++update) engine_.Step();
  idle.Wait();
  const std::int64_t end_ns = MonotonicNs();
  engine_.EndBatch(false);
  engine_.Await();
  planner_.Began(plan.updates.size());
  return static_cast<double>(end_ns - start_ns) * 1e-9;
}

Result<nlohmann::json> DeviceStepBench::Measure(int rounds) {
  std::vector<double> seconds;
  for (int round = 0; round < rounds; ++round) seconds.push_back(TimeBatch());
  const DeviceSeconds step = SecondsOf(std::move(seconds), engine_.updates());
  const double gaps = TimeEmptyGraph(&device_, nodes_, rounds).median;
  if (const std::string error = device_.error(); !error.empty()) return ResourceError(error);
  return nlohmann::json{{"row", row_.name},
                        {"by", "murmurate"},
                        {"precision", NameOf(row_.precision)},
                        {"rows", row_.settings.minibatch},
                        {"parameters", ParameterLayout(row_.spec).trained_count()},
                        {"us", step.median * 1e6},
                        {"shortest_us", step.shortest * 1e6},
                        {"longest_us", step.longest * 1e6},
                        {"rounds", rounds},
                        {"updates_a_round", engine_.updates()},
                        {"nodes", nodes_},
                        {"gaps_us", gaps * 1e6},
                        {"planned_bytes", engine_.memory().bytes()},
                        {"taken_bytes", taken_bytes_}};
}

}  // namespace murmurate
