#include "server/device/pinned_memory.h"

#include <utility>

namespace murmurate {

std::shared_ptr<PinnedMemory> PinnedMemory::Of(std::shared_ptr<Device> device) {
  return std::shared_ptr<PinnedMemory>(new PinnedMemory(std::move(device)));
}

std::byte* PinnedMemory::Allocate(std::size_t bytes) {
  std::byte* block = device_->AllocatePinned(bytes);
  const bool plain = block == nullptr;
  if (plain) block = PlainBatchMemory().Allocate(bytes);
  const std::lock_guard lock(mutex_);
  if (plain) plain_.insert(block);
  if (++blocks_ == 1) self_ = shared_from_this();
  return block;
}

void PinnedMemory::Free(std::byte* block, std::size_t bytes) {
  std::shared_ptr<PinnedMemory> last;  // outlives the lock
  const std::lock_guard lock(mutex_);
  if (plain_.erase(block) > 0)
    PlainBatchMemory().Free(block, bytes);
  else
    device_->FreePinned(block);
  if (--blocks_ == 0) last = std::move(self_);
}

}  // namespace murmurate
