#include "server/device/pinned_memory.h"

#include <new>
#include <utility>

namespace murmurate {

std::shared_ptr<PinnedMemory> PinnedMemory::Of(std::shared_ptr<Device> device) {
  return std::shared_ptr<PinnedMemory>(new PinnedMemory(std::move(device)));
}

std::byte* PinnedMemory::Allocate(std::size_t bytes) {
  std::byte* const block = device_->AllocatePinned(bytes);
  if (block == nullptr) throw std::bad_alloc();
  const std::lock_guard lock(mutex_);
  if (++blocks_ == 1) self_ = shared_from_this();
  return block;
}

void PinnedMemory::Free(std::byte* block, std::size_t /*bytes*/) {
  device_->FreePinned(block);
  std::shared_ptr<PinnedMemory> last;  // outlives the lock
  const std::lock_guard lock(mutex_);
  if (--blocks_ == 0) last = std::move(self_);
}

}  // namespace murmurate
