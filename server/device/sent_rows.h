// SentRows: the rows of observations that passes over a replay see, on a device: brought there with
// each pass, each with the frames that a stack needs of before, or, with a replay's rows on the device
// (ReplaySettings::memory), put together there from its copy (mirrored_rows.h) by the names that the
// passes bring.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/compute/device/calls/gather.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/mirrored_rows.h"
#include "server/device/pinned_block.h"
#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class SentRows {
 public:
  /// Plans memory for so many rows.
  SentRows(const ModelSpec& spec, const AlgorithmSettings& settings, std::size_t rows,
           DeviceMemory* memory);

  /// After memory is allocated; the status says that the host has no memory left.
  Status Start(Device* device);

  bool by_name() const { return kept_ != nullptr; }
  /// Frames of before that come with a row.
  std::size_t frames() const { return frames_; }
  /// The rows that a batch's store has written, if they are kept on the device; it is idle.
  void Update(const TrainingBatch& batch);
  /// Writes row `row`, as its batch has it: rows[0], and of those before it rows[1 ...], null: zeros.
  /// Empty: padding.
  void Lay(std::size_t row, std::span<const std::byte* const> rows);
  /// Enqueues the copy of the first `rows`.
  void EnqueueUp(std::size_t rows) const;
  /// As a batch of trajectories of one step.
  BatchObservations observations() const;

 private:
  void Put(const std::byte* from, std::byte* to) const;
  void Enqueue(const std::byte* from, std::size_t rows, const DeviceArray<std::uint32_t>& names,
               const DeviceArray<std::byte>& to) const;
  std::byte* host_frames() const { return pinned_->data() + rows_ * sent_bytes_; }

  const std::size_t rows_, row_bytes_, frames_;
  const std::size_t sent_bytes_;  ///< of each row that goes up: the row, or its name
  DeviceArray<std::byte> observation_, frames0_;
  DeviceArray<std::uint8_t> flags_;                 ///< zeros: every row is an episode of its own
  DeviceArray<std::uint32_t> names_, frame_names_;  ///< by_name
  std::unique_ptr<PinnedBlock> pinned_;
  std::unique_ptr<MirroredRows> kept_;  ///< null: rows are brought
  Device* device_ = nullptr;
};

}  // namespace murmurate
