#include "tests/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
thread_local std::uint64_t allocations = 0, frees = 0, bytes = 0;
std::atomic<std::uint64_t> all_allocations{0};

void CountAllocation(std::size_t size) {
  ++allocations;
  bytes += size;
  all_allocations.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

namespace murmurate {
std::uint64_t Allocations() { return allocations; }
std::uint64_t AllocatedBytes() { return bytes; }
std::uint64_t Frees() { return frees; }
std::uint64_t AllocationsOfAllThreads() { return all_allocations.load(); }
}  // namespace murmurate

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define MURMURATE_THREAD_SANITIZER
#endif
#endif

#ifdef MURMURATE_THREAD_SANITIZER

// Its runtime has operators of its own and calls these. They count malloc and free as well.
extern "C" {
void __sanitizer_malloc_hook(const volatile void*, std::size_t size) { CountAllocation(size); }
void __sanitizer_free_hook(const volatile void* memory) { frees += memory != nullptr; }
}

#else

namespace {

void* Allocate(std::size_t size, std::align_val_t alignment = std::align_val_t{0}) {
  const std::size_t border = static_cast<std::size_t>(alignment);
  CountAllocation(size);
  void* memory = border == 0 ? std::malloc(size == 0 ? 1 : size)
                             : std::aligned_alloc(border, (size + border - 1) / border * border);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Free(void* memory) {
  frees += memory != nullptr;
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, std::align_val_t border) { return Allocate(size, border); }
void* operator new[](std::size_t size, std::align_val_t border) { return Allocate(size, border); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new(std::size_t size, std::align_val_t border, const std::nothrow_t&) noexcept {
  return Allocate(size, border);
}
void* operator new[](std::size_t size, std::align_val_t border, const std::nothrow_t&) noexcept {
  return Allocate(size, border);
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  Free(memory);
}

#endif
