#include "server/device/sent_rows.h"

#include <cstring>

#include "server/device/device_control.h"
#include "server/replay/replay_room.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

std::size_t SentBytes(const AlgorithmSettings& settings, std::size_t row_bytes) {
  return settings.replay.memory == RowMemory::kDevice ? sizeof(std::uint32_t) : row_bytes;
}

}  // namespace

SentRows::SentRows(const ModelSpec& spec, const AlgorithmSettings& settings, std::size_t rows,
                   DeviceMemory* memory)
    : rows_(rows),
      row_bytes_(TrajectoryLayout(spec, settings.trajectory_length).row_bytes()),
      frames_(static_cast<std::size_t>(TrajectoryLayout(spec, settings.trajectory_length).frames)),
      sent_bytes_(SentBytes(settings, row_bytes_)),
      observation_(memory->Plan<std::byte>(MemoryPurpose::kBatches, rows * row_bytes_)),
      frames0_(memory->Plan<std::byte>(MemoryPurpose::kBatches, rows * frames_ * row_bytes_)),
      flags_(memory->Plan<std::uint8_t>(MemoryPurpose::kBatches, rows)) {
  if (settings.replay.memory != RowMemory::kDevice) return;
  names_ = memory->Plan<std::uint32_t>(MemoryPurpose::kBatches, rows);
  frame_names_ = memory->Plan<std::uint32_t>(MemoryPurpose::kBatches, rows * frames_);
  const TrajectoryLayout layout(spec, settings.trajectory_length);
  kept_ = std::make_unique<MirroredRows>(ReplayRoom(layout, settings.replay.capacity).places(),
                                         row_bytes_, memory);
}

Status SentRows::Start(Device* device) {
  pinned_ = std::make_unique<PinnedBlock>(device, rows_ * (1 + frames_) * sent_bytes_);
  if (pinned_->data() == nullptr) return NoPinnedMemory();
  device_ = device;
  device->ClearMemory(Stream::kMain, flags_.data(), flags_.bytes());
  return kept_ == nullptr ? Status() : kept_->Start(device);
}

void SentRows::Update(const TrainingBatch& batch) {
  MURMURATE_CHECK((batch.kept != nullptr) == by_name(), "rows or their names, as it was planned");
  if (kept_ != nullptr) kept_->Update(batch.kept);
}

void SentRows::Put(const std::byte* from, std::byte* to) const {
  if (from != nullptr)
    std::memcpy(to, from, sent_bytes_);
  else
    std::memset(to, 0, sent_bytes_);  // the name of zeros, too
}

void SentRows::Lay(std::size_t row, std::span<const std::byte* const> rows) {
  const bool padding = rows.empty();
  if (padding && !by_name()) return;
  Put(padding ? nullptr : rows[0], pinned_->data() + row * sent_bytes_);
  for (std::size_t age = 1; age <= frames_; ++age)
    Put(padding ? nullptr : rows[age], host_frames() + ((row + 1) * frames_ - age) * sent_bytes_);
}

void SentRows::Enqueue(const std::byte* from, std::size_t rows,
                       const DeviceArray<std::uint32_t>& names,
                       const DeviceArray<std::byte>& to) const {
  void* const first = by_name() ? static_cast<void*>(names.data()) : to.data();
  device_->CopyIn(Stream::kMain, first, from, rows * sent_bytes_);
  if (by_name()) kept_->Copy(names, rows, to.data());
}

void SentRows::EnqueueUp(std::size_t rows) const {
  Enqueue(pinned_->data(), rows, names_, observation_);
  if (frames_ > 0) Enqueue(host_frames(), rows * frames_, frame_names_, frames0_);
}

BatchObservations SentRows::observations() const {
  return {.observation = observation_.data(),
          .next_observation = nullptr,
          .final_observation = nullptr,
          .frames0 = frames0_.data(),
          .flags = flags_.data(),
          .row_bytes = row_bytes_,
          .length = 1,
          .frames = static_cast<int>(frames_)};
}

}  // namespace murmurate
