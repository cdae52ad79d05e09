#include "bench/device_bench.h"
#include "bench/device_models.h"
#include "bench/device_rows.h"
#include "server/device/device_optimizer.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Bytes of a number that are moved: the gradient for the norm; gradient, parameter and two moments
/// read, the last three written.
constexpr double kBytes = 4 + 7 * 4;

void FillNumbers(Device* device, const DeviceArray<float>& numbers, float value) {
  device->Launch(Stream::kMain, Grid::For(numbers.size(), 256),
                 FillNumbersCall{.to = numbers.data(), .count = numbers.size(), .value = value});
}

}  // namespace

Result<nlohmann::json> MeasureAdam(Device* device, bool small, int rounds) {
  const ModelSpec spec = ManyNumbersModel(small);
  const ParameterLayout layout(spec);
  const std::size_t count = layout.trained_count();
  DeviceMemory memory;
  const auto control = memory.Plan<TrainingControl>(MemoryPurpose::kWorkspace, 1);
  const auto gradient = memory.Plan<float>(MemoryPurpose::kParameters, count);
  const auto parameters = memory.Plan<float>(MemoryPurpose::kParameters, count);
  const DeviceOptimizer optimizer(layout, AlgorithmSettings{}, -1, &memory);
  MURMURATE_RETURN_IF_ERROR(memory.Allocate(device));

  TrainingControl numbers{};
  numbers.learning_rate = 1e-6f;
  device->CopyIn(Stream::kMain, control.data(), &numbers, sizeof numbers);
  optimizer.Upload(device, Stream::kMain);
  optimizer.EnqueueForget(device, Stream::kMain, control.data());
  FillNumbers(device, gradient, 1e-3f);
  FillNumbers(device, parameters, 0.5f);
  const auto step = [&] {
    optimizer.EnqueueStep(device, Stream::kMain, control.data(), gradient.data(),
                          parameters.data());
  };
  step();
  device->BeginGraph(Stream::kMain);
  step();
  const DeviceGraph graph = device->EndGraph(Stream::kMain);
  if (!device->error().empty()) return ResourceError(device->error());
  const DeviceSeconds seconds =
      TimeOnDevice(device, rounds, 4, [&] { device->Replay(Stream::kMain, graph); });
  device->DropGraph(graph);
  if (!device->error().empty()) return ResourceError(device->error());
  return nlohmann::json{{"row", "adam/100M"},
                        {"by", "murmurate"},
                        {"parameters", count},
                        {"us", seconds.median * 1e6},
                        {"shortest_us", seconds.shortest * 1e6},
                        {"longest_us", seconds.longest * 1e6},
                        {"rounds", rounds},
                        {"gb_s", kBytes * static_cast<double>(count) / seconds.median * 1e-9}};
}

}  // namespace murmurate
