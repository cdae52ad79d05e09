// DeviceBatch: a training batch on a device. The next one's columns can travel beside the work on
// the present one (Prefetch).
#pragma once

#include "server/compute/device/calls/gather.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_event_holder.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_returns.h"
#include "server/experience/training_batch.h"

namespace murmurate {

class DeviceBatch {
 public:
  /// For batches of `trajectories` of this layout.
  DeviceBatch(const TrajectoryLayout& layout, int trajectories, DeviceMemory* memory);

  /// Makes what is needed beside memory; once, after that is allocated.
  void Start(Device* device);

  /// Begins to copy a batch that is likely to come next: its observations, actions and what else
  /// does not change. It must stay until another is given to Upload, or Forget.
  void Prefetch(Device* device, const TrainingBatch& next);
  /// The prefetched batch is not to be read any more.
  void Forget();
  /// Enqueues the copy of a batch: what follows on the main stream finds it. It must stay unchanged
  /// until the main stream has come to what follows.
  void Upload(Device* device, const TrainingBatch& batch);

  /// The column on the device that `column` of `batch` is copied to.
  template <typename T>
  const T* Column(const TrainingBatch& batch, std::span<T> column) const {
    return reinterpret_cast<const T*>(block_.data() + OffsetOf(batch, column.data()));
  }
  BatchObservations Observations(const TrainingBatch& batch) const;

  static std::size_t OffsetOf(const TrainingBatch& batch, const void* at) {
    return static_cast<std::size_t>(static_cast<const std::byte*>(at) - batch.block().data());
  }

 private:
  template <typename T>
  void CopyColumn(Device* device, const TrainingBatch& batch, std::span<T> column);

  DeviceArray<std::byte> block_, next_;
  const TrainingBatch* prefetched_ = nullptr;
  DeviceEventHolder arrived_;  ///< next_ holds the prefetched batch
  DeviceEventHolder taken_;    ///< next_ was copied to block_
};

}  // namespace murmurate
