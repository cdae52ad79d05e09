// DevicePlanRoom: the memory of a batch's passes and plan, pinned on the host and on the device, and
// the control block that the kernels read (device_control.h).
#pragma once

#include <memory>

#include "server/compute/device/calls/returns.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/batch_passes.h"
#include "server/device/device_control.h"
#include "server/experience/training_batch.h"
#include "server/learn/batch_plan.h"

namespace murmurate {

class DevicePlanRoom : public DeviceControl {
 public:
  /// `passes` must outlive it.
  DevicePlanRoom(const AlgorithmSettings& settings, BatchPasses* passes, DeviceMemory* memory);

  /// After memory is allocated; the status says that the host has no memory left.
  Status Start(Device* device);

  /// Lays a batch's passes and plan out and enqueues their copy. Nothing of the last batch may be
  /// under way. Writes what the host has to say of control(); the steps of the optimizer stay.
  void Upload(const TrainingBatch& batch, const BatchPlan& plan, const AlgorithmSettings& settings);

  const DevicePlan& plan() const { return plan_; }
  PassLists lists() const { return passes_->lists(lists_.data()); }
  PassLists burn_in_lists() const { return passes_->burn_in_lists(lists_.data()); }

 private:
  void LayPlan(const TrainingBatch& batch, const BatchPlan& plan) const;
  std::byte* host_plan() const { return pinned_->data(); }

  BatchPasses* const passes_;
  const std::size_t most_slots_, most_rows_, plan_bytes_;
  DeviceArray<std::byte> plan_block_, lists_;
  DevicePlan plan_{};
  std::unique_ptr<PinnedBlock> pinned_;
};

}  // namespace murmurate
