// NetworkRun: rows of a model through DeviceNetwork on a device, and through ActorCritic, to
// compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/compute/device/device_memory.h"
#include "server/device/device_network.h"
#include "server/network/actor_critic.h"
#include "shared/model/model_spec.h"
#include "tests/device/test_device.h"

namespace murmurate {

/// What a network gives for some rows, and the gradient of random gradients of that.
struct NetworkNumbers {
  std::vector<float> outputs, values, state, gradient;
  friend bool operator==(const NetworkNumbers&, const NetworkNumbers&) = default;
};

/// Time-major random rows [steps][lanes], in whose middle episodes begin.
class NetworkRows {
 public:
  NetworkRows(const ModelSpec& spec, int steps, int lanes, std::uint64_t seed = 1);

  int rows() const { return steps * lanes; }
  NetworkNumbers OnThisProcessor() const;

  const ModelSpec spec;
  const int steps, lanes;
  std::vector<float> parameters;
  std::vector<std::uint32_t> words;        ///< as ActorCritic takes them
  std::vector<std::vector<float>> inputs;  ///< as DeviceNetwork takes them, but not in blocks
  std::vector<std::uint8_t> first;
  std::vector<float> state0, d_outputs, d_values;
};

/// A network with memory of its own on the device of tests.
class NetworkOnDevice {
 public:
  /// options.pictures: how pictures lie.
  NetworkOnDevice(const ModelSpec& spec, int max_rows, HostDeviceOptions options = {},
                  DeviceNetworkForm form = DeviceNetworkForm::kLayered);

  /// Copies the rows in.
  void Load(const NetworkRows& rows);
  void Forward(bool values_alone = false);
  void Backward();
  NetworkNumbers Numbers();
  NetworkNumbers Run(const NetworkRows& rows);

  TestDevice& device() { return device_; }
  const DeviceNetwork& network() const { return *network_; }
  const std::vector<DeviceInput>& inputs() const { return inputs_; }
  const DeviceMemory& memory() const { return memory_; }

 private:
  DeviceRows Rows() const;

  TestDevice device_;
  DeviceMemory memory_;
  std::vector<PlannedInput> planned_;
  std::vector<DeviceInput> inputs_;
  std::unique_ptr<DeviceNetwork> network_;
  DeviceArray<float> parameters_, gradient_, state0_, state_out_;
  DeviceArray<std::uint8_t> first_;
  const NetworkRows* rows_ = nullptr;
};

/// Every number agrees to 1e-5 of the largest of its tensor.
void ExpectSameNumbers(const ModelSpec& spec, const NetworkNumbers& device,
                       const NetworkNumbers& here);

}  // namespace murmurate
