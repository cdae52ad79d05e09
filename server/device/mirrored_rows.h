// MirroredRows: a copy of a replay's observations on a device (server/experience/kept_rows.h), and
// the rows that samples name put together from it.
#pragma once

#include <cstdint>
#include <memory>

#include "server/compute/device/device.h"
#include "server/compute/device/device_event_holder.h"
#include "server/compute/device/device_memory.h"
#include "server/device/pinned_block.h"
#include "server/experience/kept_rows.h"

namespace murmurate {

class MirroredRows {
 public:
  /// Plans memory for so many places.
  MirroredRows(std::size_t places, std::size_t row_bytes, DeviceMemory* memory);

  /// After memory is allocated; the status says that the host has no memory left.
  Status Start(Device* device);

  /// Copies the rows that were written since the last call; these may be many, of a replay that was
  /// filled before. The device is idle. They may change again when it is idle the next time.
  void Update(KeptRows* kept);
  /// Enqueues to[i] = the row that names[i] means, zeros for KeptRows::kZeros.
  void Copy(const DeviceArray<std::uint32_t>& names, std::size_t rows, std::byte* to) const;

 private:
  /// What is copied without waiting for the device.
  static constexpr std::size_t kStagingBytes = 8u << 20;

  const std::size_t places_, row_bytes_;
  DeviceArray<std::byte> rows_;
  std::unique_ptr<PinnedBlock> staging_;
  DeviceEventHolder copied_;  ///< staging_ may be written again
  Device* device_ = nullptr;
};

}  // namespace murmurate
