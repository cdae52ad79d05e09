// The layout of a weight segment (drawn in shared_memory_weights.h), and the copies of its words.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "shared/transport/shared_segment.h"

namespace murmurate {

inline constexpr std::uint64_t kSegmentMagic = 0x316d68732d524d4d;  // "MMR-shm1"
inline constexpr std::uint32_t kSegmentLayoutVersion = 1;
inline constexpr std::size_t kSegmentHeaderBytes = 4096;
inline constexpr std::size_t kOwnerOffset = 64;
inline constexpr std::uint32_t kSlotCount = 3;  // a reader has two whole publications to copy
inline constexpr std::uint32_t kMaxSlotCount = 16;

enum class SegmentState : std::uint32_t { kMaking, kLive, kClosing };

struct SegmentHeader {
  std::uint64_t magic;
  std::uint32_t layout_version;
  std::uint32_t header_bytes;
  std::uint64_t total_bytes;
  std::uint32_t slot_count;
  std::uint32_t zero;
  std::uint64_t slot_stride;
  std::uint64_t payload_bytes;
  std::uint64_t spec_hash;
  std::uint64_t incarnation;
  ProcessIdentity owner;
  alignas(64) std::atomic<std::uint32_t> state;
  alignas(64) std::atomic<std::int64_t> heartbeat_ns;
  alignas(64) std::atomic<std::uint64_t> latest;  // version << 8 | slot; 0: nothing yet
  FutexWord word;
};
static_assert(offsetof(SegmentHeader, owner) == kOwnerOffset);
static_assert(sizeof(SegmentHeader) <= kSegmentHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

struct alignas(64) SlotHeader {
  std::atomic<std::uint64_t> sequence;  // odd while the slot is written
  std::atomic<std::uint64_t> version;
  std::atomic<std::uint64_t> bytes;
};
static_assert(sizeof(SlotHeader) == 64);

/// Ordinary memory -> shared words. Each store is a release: none of them, and nothing after them,
/// can be seen before the odd sequence that was stored ahead. `bytes` is a multiple of 8.
inline void StoreWords(std::byte* shared, const void* from, std::size_t bytes) {
  const char* source = static_cast<const char*>(from);
  auto* words = reinterpret_cast<std::uint64_t*>(shared);
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    std::uint64_t value;
    std::memcpy(&value, source + 8 * i, 8);
    // guard: SharedWords.MayBeReadWhileTheyAreWritten (tsan): words of the payload are atomic
    std::atomic_ref<std::uint64_t>(words[i]).store(value, std::memory_order_release);
  }
}

/// Shared words -> ordinary memory. Each load is an acquire: the sequence that is read afterwards
/// cannot be older than any of them.
inline void LoadWords(void* to, const std::byte* shared, std::size_t bytes) {
  char* target = static_cast<char*>(to);
  auto* words = reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(shared));
  for (std::size_t i = 0; i < bytes / 8; ++i) {
    const std::uint64_t value =
        std::atomic_ref<std::uint64_t>(words[i]).load(std::memory_order_acquire);
    std::memcpy(target + 8 * i, &value, 8);
  }
}

}  // namespace murmurate
