// Training steps on a GPU, Adam over many numbers and publishing from it: the rows "Training on a
// GPU" of docs/performance.md. scripts/gpu-campaign.sh runs it in turns with
// python/bench/torch_step.py, which has the same rows.
//
//   bench_device_step [--device cuda:0|host] [--small] [ROW...]    all rows, when none is named
//   bench_device_step ... -                                        rows from stdin, one a line
//
// Each row is a line of JSON: medians of 30 rounds, in microseconds. A row that cannot be measured
// is a line with "error". Without the device: one sentence, exit code 5.
#include <algorithm>
#include <iostream>
#include <map>

#include "bench/device_bench.h"
#include "bench/device_rows.h"
#include "bench/device_step_bench.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr char kAdam[] = "adam/100M", kPublish[] = "publish/6.7MB";

class Rows {
 public:
  explicit Rows(const DeviceBenchOptions& options)
      : options_(options), rounds_(options.small ? 2 : 30), steps_(DeviceStepRows(options.small)) {}

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const DeviceStepRow& row : steps_) names.push_back(row.name);
    names.insert(names.end(), {kAdam, kPublish});
    return names;
  }

  Result<nlohmann::json> Measure(const std::string& name) {
    for (const DeviceStepRow& row : steps_)
      if (row.name == name) return MeasureStep(row);
    if (name != kAdam && name != kPublish) return InvalidArgument(name + ": there is no such row");
    const auto device = DeviceFor(DevicePrecision::kFp32);
    if (!device.ok()) return device.status();
    return name == kAdam ? MeasureAdam(*device, options_.small, rounds_)
                         : MeasurePublishing(*device, options_.small, rounds_);
  }

  Result<Device*> DeviceFor(DevicePrecision precision) {
    std::unique_ptr<Device>& device = devices_[precision];
    if (device == nullptr) {
      auto opened = OpenBenchDevice(options_.device, precision);
      if (!opened.ok()) return opened.status();
      device = *std::move(opened);
    }
    return device.get();
  }

 private:
  /// A row that is asked for again goes on with what the first time made.
  Result<nlohmann::json> MeasureStep(const DeviceStepRow& row) {
    std::unique_ptr<DeviceStepBench>& bench = benches_[row.name];
    if (bench == nullptr) {
      const auto device = DeviceFor(row.precision);
      if (!device.ok()) return device.status();
      auto made = DeviceStepBench::Make(row, *device);
      if (!made.ok()) return made.status();
      bench = *std::move(made);
    }
    return bench->Measure(rounds_);
  }

  const DeviceBenchOptions options_;
  const int rounds_;
  const std::vector<DeviceStepRow> steps_;
  std::map<DevicePrecision, std::unique_ptr<Device>> devices_;
  std::map<std::string, std::unique_ptr<DeviceStepBench>> benches_;
};

void Print(Rows& rows, const std::string& name) {
  const auto line = rows.Measure(name);
  PrintLine(
      line.ok()
          ? *line
          : nlohmann::json{{"row", name}, {"by", "murmurate"}, {"error", line.status().message()}});
}

Status Run(int argc, char** argv) {
  auto options = ParseDeviceBench(argc, argv);
  if (!options.ok()) return options.status();
  Rows rows(*options);
  const auto device = rows.DeviceFor(DevicePrecision::kFp32);
  if (!device.ok()) return device.status();
  if (options->words == std::vector<std::string>{"-"}) {
    for (std::string name; std::getline(std::cin, name);) Print(rows, name);
    return {};
  }
  const std::vector<std::string> all = rows.names();
  for (const std::string& name : options->words)
    if (std::ranges::find(all, name) == all.end())
      return InvalidArgument(name + ": there is no such row");
  for (const std::string& name : options->words.empty() ? all : options->words) Print(rows, name);
  return {};
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  const murmurate::Status status = murmurate::Run(argc, argv);
  return status.ok() ? 0 : murmurate::Fail(status);
}
