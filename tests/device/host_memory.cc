#include "tests/device/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "shared/core/check.h"
#include "tests/device/kernel_block.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(memory, bytes) static_cast<void>(0)
#define ASAN_UNPOISON_MEMORY_REGION(memory, bytes) static_cast<void>(0)
#endif

namespace murmurate {
namespace {

constexpr std::size_t kBorder = 256;

std::size_t UpTo(std::size_t bytes, std::size_t border) {
  return (bytes + border - 1) / border * border;
}

/// Where the next block may lie: sanitizers, too, leave these addresses to the program. Where the
/// system disagrees, it chooses.
void* NextAddress(std::size_t bytes) {
  static std::atomic<std::uintptr_t> next = 0x7e9000000000;
  return reinterpret_cast<void*>(next.fetch_add(bytes));
}

std::uintptr_t AddressOf(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

}  // namespace

HostMemory::~HostMemory() {
  while (!blocks_.empty()) Free(reinterpret_cast<void*>(blocks_.begin()->first));
}

void* HostMemory::Allocate(std::size_t bytes) {
  if (bytes == 0 || bytes > free_bytes()) return nullptr;
  const auto page = static_cast<std::size_t>(getpagesize());
  const std::size_t page_bytes = UpTo(bytes, page);
  void* const pages = mmap(NextAddress(page_bytes + page), page_bytes + page, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  const Block block = {static_cast<std::byte*>(pages), page_bytes, bytes};
  std::byte* const memory = block.pages + page_bytes - UpTo(bytes, kBorder);
  Protect(block, true);
  FillWith(poison_, memory, bytes);
  ASAN_POISON_MEMORY_REGION(block.pages, memory - block.pages);
  ASAN_POISON_MEMORY_REGION(memory + bytes, block.pages + page_bytes + page - (memory + bytes));
  Protect(block, open_);
  blocks_[AddressOf(memory)] = block;
  used_bytes_ += bytes;
  return memory;
}

void HostMemory::Free(void* memory) {
  const auto found = blocks_.find(AddressOf(memory));
  MURMURATE_CHECK(found != blocks_.end(), "what is freed was allocated, and not freed yet");
  const Block& block = found->second;
  used_bytes_ -= block.bytes;
  const std::size_t mapped = block.page_bytes + static_cast<std::size_t>(getpagesize());
  ASAN_UNPOISON_MEMORY_REGION(block.pages, mapped);
  munmap(block.pages, mapped);
  blocks_.erase(found);
}

void HostMemory::Protect(const Block& block, bool open) const {
  const int access = open ? PROT_READ | PROT_WRITE : PROT_NONE;
  MURMURATE_CHECK(mprotect(block.pages, block.page_bytes, access) == 0, "memory can be protected");
}

void HostMemory::Open() {
  open_ = true;
  for (const auto& [address, block] : blocks_) Protect(block, true);
}

void HostMemory::Close() {
  open_ = false;
  for (const auto& [address, block] : blocks_) Protect(block, false);
}

std::vector<std::span<std::byte>> HostMemory::Blocks() const {
  std::vector<std::span<std::byte>> blocks;
  for (const auto& [address, block] : blocks_)
    blocks.emplace_back(reinterpret_cast<std::byte*>(address), block.bytes);
  return blocks;
}

bool HostMemory::Holds(const void* memory, std::size_t bytes) const {
  const std::uintptr_t address = AddressOf(memory);
  auto block = blocks_.upper_bound(address);
  if (block == blocks_.begin()) return false;
  --block;
  const std::uintptr_t end = block->first + block->second.bytes;
  return address <= end && bytes <= end - address;
}

bool HostMemory::Touches(const void* memory, std::size_t bytes) const {
  const auto block = blocks_.lower_bound(AddressOf(memory) + bytes);
  if (block == blocks_.begin()) return false;
  const auto& [begin, below] = *std::prev(block);
  return begin + below.bytes > AddressOf(memory);
}

}  // namespace murmurate
