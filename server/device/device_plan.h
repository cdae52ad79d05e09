// DevicePlanRoom: the memory of a batch's passes and plan, pinned on the host and on the device, and
// the control block that the kernels read.
#pragma once

#include <memory>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/calls/returns.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_event_holder.h"
#include "server/compute/device/device_memory.h"
#include "server/device/batch_passes.h"
#include "server/experience/training_batch.h"
#include "server/learn/batch_plan.h"

namespace murmurate {

/// Host memory that a device copies to and from beside the processor's work.
class PinnedBlock {
 public:
  /// The device must outlive it.
  PinnedBlock(Device* device, std::size_t bytes)
      : device_(device), bytes_(device->AllocatePinned(bytes)), size_(bytes) {}
  ~PinnedBlock() {
    if (bytes_ != nullptr) device_->FreePinned(bytes_);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  std::byte* data() const { return bytes_; }  ///< null: the host has none left
  std::size_t size() const { return size_; }

 private:
  Device* const device_;
  std::byte* const bytes_;
  const std::size_t size_;
};

class DevicePlanRoom {
 public:
  /// `passes` must outlive it.
  DevicePlanRoom(const AlgorithmSettings& settings, BatchPasses* passes, DeviceMemory* memory);

  /// After memory is allocated; the status says that the host has no memory left.
  Status Start(Device* device);

  /// Lays a batch's passes and plan out and enqueues their copy. Nothing of the last batch may be
  /// under way. Writes what the host has to say of control(); the steps of the optimizer stay.
  void Upload(const TrainingBatch& batch, const BatchPlan& plan, const AlgorithmSettings& settings);
  /// Enqueues the copy of the control block to host(), and marks what the main stream has by now.
  void EnqueueDown() const;
  void Await() { device_->Await(done_.get()); }          ///< for the last EnqueueDown
  bool Done() { return device_->Reached(done_.get()); }  ///< the same, without waiting
  /// Both.
  void Download() {
    EnqueueDown();
    Await();
  }

  const DevicePlan& plan() const { return plan_; }
  PassLists lists() const { return passes_->lists(lists_.data()); }
  PassLists burn_in_lists() const { return passes_->burn_in_lists(lists_.data()); }
  TrainingControl* control() const { return control_.data(); }
  /// What the host wrote last, or what Download brought.
  TrainingControl& host() const { return *reinterpret_cast<TrainingControl*>(pinned_->data()); }
  void EnqueueControlUp() const;
  /// The learning rate of the batch that was uploaded is another.
  void EnqueueRateUp(double rate);

 private:
  void LayPlan(const TrainingBatch& batch, const BatchPlan& plan) const;
  std::byte* host_plan() const { return pinned_->data() + kControlRoom; }

  static constexpr std::size_t kControlRoom = 1024;
  static_assert(sizeof(TrainingControl) <= kControlRoom);

  BatchPasses* const passes_;
  const std::size_t most_slots_, most_rows_, plan_bytes_;
  DeviceArray<TrainingControl> control_;
  DeviceArray<std::byte> plan_block_, lists_;
  DevicePlan plan_{};
  std::unique_ptr<PinnedBlock> pinned_;
  Device* device_ = nullptr;
  DeviceEventHolder done_;
};

}  // namespace murmurate
