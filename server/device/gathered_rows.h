// GatheredRows: the rows of one pass, put together on a device for a loss: actions, masks, weights
// and what is known of each (device_minibatch.h), and the lanes of a recurrent model.
#pragma once

#include "server/compute/device/calls/gather.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/batch_passes.h"
#include "server/device/device_batch.h"
#include "server/device/device_layer.h"
#include "server/device/device_minibatch.h"
#include "server/device/device_returns.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class GatheredRows {
 public:
  /// `state_floats`: of an agent; 0: the model is not recurrent.
  GatheredRows(const ModelSpec& spec, int most_rows, int most_lanes, int state_floats,
               DeviceMemory* memory);

  /// What gathers the present pass's rows. `returns`: by row of the batch; null: there are none yet.
  RowsToGather ToGather(const TrainingControl* control, const PassLists& lists,
                        const TrainingBatch& batch, const DeviceBatch& columns,
                        const DeviceReturns* returns, int rows) const;
  /// Gathers where episodes begin, and with `states` the states before the first step.
  void GatherLanes(Device* device, const TrainingControl* control, const PassLists& lists,
                   const PassShape& shape, bool states) const;

  /// What was gathered, without a network's outputs.
  DeviceMinibatch minibatch(int rows) const;
  DeviceSeenRows seen(int rows) const;
  /// The rows as a network sees them. `after`: they begin with the states that those of `KeepingState`
  /// ended with.
  DeviceRows rows(const PassShape& shape, bool after = false) const;
  DeviceRows KeepingState(const PassShape& shape) const;

 private:
  const int words_, mask_bytes_, state_floats_;
  DeviceArray<std::int32_t> row_, source_, action_;
  DeviceArray<std::uint8_t> mask_, first_;
  DeviceArray<double> weight_parts_;
  DeviceArray<float> weight_, behaviour_, start_, advantage_, target_, state_, state_after_;
};

}  // namespace murmurate
