#include "tests/device/call_pointers.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "tests/device/host_memory.h"
#include "tests/device/kernel_block.h"

namespace murmurate {
namespace {

/// Whether the program has memory there: heap, stack or its own variables. What lies below is taken
/// for numbers.
bool IsHostMemory(std::uintptr_t address) {
  constexpr std::uintptr_t kLowest = 0x500000000000, kHighest = 0x7fffffffffff;
  if (address < kLowest || address > kHighest) return false;
  const auto page = static_cast<std::uintptr_t>(getpagesize());
  unsigned char in_memory = 0;
  return mincore(reinterpret_cast<void*>(address / page * page), 1, &in_memory) == 0;
}

}  // namespace

void CheckPointers(const HostKernel& kernel, const void* call, const HostMemory& memory) {
  if (!kChecksPointers) return;
  for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= kernel.call_bytes;
       at += sizeof(std::uintptr_t)) {
    std::uintptr_t word = 0;
    std::memcpy(&word, static_cast<const std::byte*>(call) + at, sizeof word);
    if (memory.Holds(reinterpret_cast<const void*>(word), 0) || !IsHostMemory(word)) continue;
    KernelFails(kernel, ("byte " + std::to_string(at) +
                         " of its call begins the address of memory that the device does not have")
                            .c_str());
  }
}

}  // namespace murmurate
