#include "server/device/device_batch.h"

#include "shared/core/check.h"

namespace murmurate {

DeviceBatch::DeviceBatch(const TrajectoryLayout& layout, int trajectories, DeviceMemory* memory)
    : block_(
          memory->Plan<std::byte>(MemoryPurpose::kBatches, BatchBlockBytes(layout, trajectories))),
      next_(memory->Plan<std::byte>(MemoryPurpose::kBatches, block_.size())) {}

void DeviceBatch::Start(Device* device) {
  arrived_ = DeviceEventHolder(device);
  taken_ = DeviceEventHolder(device);
}

void DeviceBatch::Prefetch(Device* device, const TrainingBatch& next) {
  if (next.block().size() != block_.size()) return;  // of another shape
  prefetched_ = &next;
  device->WaitFor(Stream::kCopy, taken_.get());
  device->CopyIn(Stream::kCopy, next_.data(), next.block().data(), block_.size());
  device->Record(Stream::kCopy, arrived_.get());
}

void DeviceBatch::Forget() { prefetched_ = nullptr; }

template <typename T>
void DeviceBatch::CopyColumn(Device* device, const TrainingBatch& batch, std::span<T> column) {
  const std::size_t offset = OffsetOf(batch, column.data());
  device->CopyIn(Stream::kMain, block_.data() + offset, column.data(), column.size_bytes());
}

void DeviceBatch::Upload(Device* device, const TrainingBatch& batch) {
  MURMURATE_CHECK(batch.block().size() == block_.size(),
                  "a batch must have the shape that its room was made for");
  if (prefetched_ != &batch) {
    prefetched_ = nullptr;
    device->CopyIn(Stream::kMain, block_.data(), batch.block().data(), block_.size());
    return;
  }
  prefetched_ = nullptr;
  device->WaitFor(Stream::kMain, arrived_.get());
  device->CopyWithin(Stream::kMain, block_.data(), next_.data(), block_.size());
  device->Record(Stream::kMain, taken_.get());
  CopyColumn(device, batch, batch.reward);
  CopyColumn(device, batch, batch.weight);
}

BatchObservations DeviceBatch::Observations(const TrainingBatch& batch) const {
  const auto bytes_of = [&](std::span<float> column) {
    return reinterpret_cast<const std::byte*>(Column(batch, column));
  };
  return {.observation = bytes_of(batch.observation),
          .next_observation = bytes_of(batch.next_observation),
          .final_observation = bytes_of(batch.final_observation),
          .frames0 = bytes_of(batch.frames0),
          .flags = Column(batch, batch.flags),
          .row_bytes = batch.layout.row_bytes(),
          .length = batch.length,
          .frames = batch.layout.frames};
}

}  // namespace murmurate
