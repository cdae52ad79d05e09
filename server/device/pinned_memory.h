// PinnedMemory: batches in host memory that a device copies from while the processor works; in plain
// memory, from which copies are slower, where there is no more of it. It and the device stay until
// the last block has been given back.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <set>

#include "server/compute/device/device.h"
#include "server/experience/batch_memory.h"

namespace murmurate {

class PinnedMemory : public BatchMemory, public std::enable_shared_from_this<PinnedMemory> {
 public:
  static std::shared_ptr<PinnedMemory> Of(std::shared_ptr<Device> device);

  std::byte* Allocate(std::size_t bytes) override;
  void Free(std::byte* block, std::size_t bytes) override;

 private:
  explicit PinnedMemory(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  const std::shared_ptr<Device> device_;
  std::mutex mutex_;
  std::size_t blocks_ = 0;              ///< that were not given back
  std::set<std::byte*> plain_;          ///< of those, the ones in plain memory
  std::shared_ptr<PinnedMemory> self_;  ///< while there are some
};

}  // namespace murmurate
