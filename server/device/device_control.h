// DeviceControl: the control block that the kernels of a training step read and count in
// (calls/control.h), on the device and pinned on the host, and the way to wait for a device.
#pragma once

#include <memory>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_event_holder.h"
#include "server/compute/device/device_memory.h"
#include "server/device/pinned_block.h"

namespace murmurate {

class DeviceControl {
 public:
  explicit DeviceControl(DeviceMemory* memory);

  /// After memory is allocated; the status says that the host has no memory left.
  Status Start(Device* device);

  TrainingControl* control() const { return control_.data(); }
  /// What the host wrote last, or what Download brought.
  TrainingControl& host() const { return *reinterpret_cast<TrainingControl*>(pinned_->data()); }
  void EnqueueControlUp() const;  ///< host() -> control()
  /// The learning rate of the present batch is another.
  void EnqueueRateUp(double rate);

  /// Enqueues the copy of the control block to host(), and marks what the main stream has by now.
  void EnqueueDown() const;
  void Await() { device_->Await(done_.get()); }          ///< for the last EnqueueDown
  bool Done() { return device_->Reached(done_.get()); }  ///< the same, without waiting
  /// Both.
  void Download() {
    EnqueueDown();
    Await();
  }

 protected:
  Device* device() const { return device_; }

 private:
  const DeviceArray<TrainingControl> control_;
  std::unique_ptr<PinnedBlock> pinned_;
  Device* device_ = nullptr;
  DeviceEventHolder done_;
};

/// What is wrong where a device finds no memory of the host that it can copy from.
Status NoPinnedMemory();

}  // namespace murmurate
