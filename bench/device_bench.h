// What the benches of a device share: the device that their command line names, time on it, and
// results as lines of JSON, which scripts/gpu_campaign.py reads.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_event_holder.h"

namespace murmurate {

struct DeviceBenchOptions {
  std::string device = "cuda:0";  ///< or "host": this processor in the place of a device
  bool small = false;             ///< sizes that a processor can compute, to try the bench itself
  std::vector<std::string> words;
};

/// [--device NAME] [--small] WORD...
Result<DeviceBenchOptions> ParseDeviceBench(int argc, char** argv);

Result<std::unique_ptr<Device>> OpenBenchDevice(const std::string& name, DevicePrecision precision);

const char* NameOf(DevicePrecision precision);  ///< "fp32", "tf32", "bf16"

/// Seconds that one call takes.
struct DeviceSeconds {
  double median = 0, shortest = 0, longest = 0;
};

/// Of rounds that were timed, each of `calls` calls.
DeviceSeconds SecondsOf(std::vector<double> rounds, int calls);

/// Waits until everything that was enqueued on the main stream is done. It does not sleep: waking
/// takes longer than a small step.
class DeviceIdle {
 public:
  explicit DeviceIdle(Device* device) : device_(device), event_(device) {}
  void Wait() const {
    device_->Record(Stream::kMain, event_.get());
    while (!device_->Reached(event_.get())) {
    }
  }

 private:
  Device* const device_;
  const DeviceEventHolder event_;
};

/// Times `rounds` rounds of `calls` calls that each enqueue the same on the main stream; one round
/// before them is not timed.
DeviceSeconds TimeOnDevice(Device* device, int rounds, int calls,
                           const std::function<void()>& enqueue);

/// The same for replays of a graph of `nodes` kernels that have nothing to do.
DeviceSeconds TimeEmptyGraph(Device* device, int nodes, int rounds);

void PrintLine(const nlohmann::json& line);

/// Prints the sentence, and gives the exit code that belongs to it.
int Fail(const Status& status);

}  // namespace murmurate
