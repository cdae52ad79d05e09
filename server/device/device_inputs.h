// DeviceInputs: the inputs of a model's networks, put together on a device from the columns of a
// batch: frames stacked, numbers normalized, bytes scaled, categories one-hot, as
// server/network/observation_sources.h does it on the host, and pictures in blocks.
#pragma once

#include <vector>

#include "server/compute/device/calls/gather.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_input.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// What the inputs of a pass are made of. `parameters`: the whole block on the device.
struct InputPass {
  const TrainingControl* control;
  PassLists lists;
  BatchObservations batch;
  const float* parameters;
  int rows;
};

class DeviceInputs {
 public:
  /// For the two networks of these plans, which may be the same one; both read the observation's
  /// first inputs. `pictures`: how the device keeps pictures.
  DeviceInputs(const ModelSpec& spec, const ParameterLayout& layout, const NetworkPlan& one,
               const NetworkPlan& other, int max_rows, ElementType pictures, DeviceMemory* memory);

  /// The inputs of the network that reads the most, in its plan's order.
  const std::vector<DeviceInput>& inputs() const { return arrays_; }
  /// The same of row `first` on.
  std::vector<DeviceInput> InputsFrom(int first) const;

  /// Copies the tables to the device; once, after its memory is allocated. Waits for nothing, and
  /// reads them until the stream has come to what follows.
  void Upload(Device* device);

  /// Puts together the inputs of the present pass, and `rows` beside them, unless it has none.
  void Gather(Device* device, const InputPass& pass, const RowsToGather& rows = {}) const;

 private:
  struct Input {
    InputToGather call = {};    ///< what does not change from call to call
    std::size_t statistic = 0;  ///< kNormalized: its first number among the statistics
    std::vector<std::int32_t> host_element, host_category;
    DeviceArray<std::int32_t> element, category;
  };

  InputToGather ToGather(const Input& input, const InputPass& pass) const;

  std::vector<Input> inputs_;
  std::vector<DeviceInput> arrays_;
  std::size_t mean_at_ = 0, variance_at_ = 0;  ///< floats from the start of the parameters
};

}  // namespace murmurate
