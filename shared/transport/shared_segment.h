// SharedSegment: a named piece of shared memory of one owner; and futexes, in it or beside it.
//
// POSIX shared memory through Boost.Interprocess (shared_memory_object and mapped_region only).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

class SharedSegment {
 public:
  /// The writer: exclusive creation, mode 0600, posix_fallocate before the first touch (a sparse
  /// segment would die by SIGBUS later); the message of a failure names the size needed, what is
  /// free in /dev/shm, and the remedy. Unlinked by the destructor. Zero-filled.
  static Result<SharedSegment> Create(const std::string& name, std::size_t bytes);
  /// A reader: read-only mapping of the whole segment.
  static Result<SharedSegment> OpenReadOnly(const std::string& name);
  /// One that its owner lets write in turn with it; whose turn it is, they agree on elsewhere.
  static Result<SharedSegment> OpenReadWrite(const std::string& name);

  SharedSegment(SharedSegment&&) noexcept;
  SharedSegment& operator=(SharedSegment&&) noexcept;
  ~SharedSegment();

  /// For a reader: true when the process that made the segment is dead, by the test of
  /// SweepDeadSegments. The reader then unmaps it.
  bool IsAbandoned(std::size_t owner_offset) const;

  /// A reader's: what lies behind the first `bytes` is not needed for now. The pages leave this
  /// process's count of memory, not the segment; reading there brings them back.
  void LetGo(std::size_t bytes) const;

  std::byte* data() const { return data_; }  ///< writing through a reader's mapping is SIGSEGV
  std::size_t size() const { return size_; }
  const std::string& name() const { return name_; }

 private:
  struct Mapping;
  SharedSegment(std::string name, std::unique_ptr<Mapping> mapping, bool owner);
  static Result<SharedSegment> Open(const std::string& name, bool writable);
  std::string name_;
  std::unique_ptr<Mapping> mapping_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool owner_ = false;
};

/// Who made a segment, so that a later process can tell whether it is still alive: pid alone is not
/// enough (pids return), start time in clock ticks and the boot make it unique.
struct ProcessIdentity {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t boot_hash = 0;
};
ProcessIdentity ThisProcess();
bool IsAlive(const ProcessIdentity& identity);

/// Unlinks this user's "/murmurate-UID-*" segments in /dev/shm whose recorded owner is dead. The
/// owner is read at `owner_offset` of each (see shared/weights). Returns how many were removed.
int SweepDeadSegments(std::size_t owner_offset);

/// Identifies the machine and its /dev/shm: equal for two processes that can share a segment.
std::uint64_t HostIdentity();

using FutexWord = std::atomic<std::uint32_t>;
static_assert(FutexWord::is_always_lock_free && sizeof(FutexWord) == 4);

struct FutexWait {
  const FutexWord* word;
  std::uint32_t seen;  ///< sleep only while *word still equals this
};
/// Sleeps until one of the words differs from what was seen and is woken, or `timeout_ms`. Uses
/// futex_waitv; where the kernel has none, waits on the first word in slices of 1 ms.
void WaitForAny(std::span<const FutexWait> waits, int timeout_ms);
void WakeAll(FutexWord* word);

}  // namespace murmurate
