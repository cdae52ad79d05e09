#include "tests/device/kernel_block.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace murmurate {

constinit thread_local RunningThread running_thread;
bool (*wait_at_barrier)(const BarrierPlace&) = nullptr;

const HostKernelPlace& HostKernelHere() { return *running_thread.place; }

void HostKernelSync(const char* file, int line) {
  if (wait_at_barrier != nullptr && !wait_at_barrier({file, line})) return;
  running_thread.block->Sync();
}

std::uint64_t HostKernelShuffle(std::uint64_t value, unsigned distance) {
  return running_thread.block->Shuffle(value, distance);
}

void* HostKernelShared(int line, const char* file, std::size_t bytes) {
  return running_thread.block->Shared(line, file, bytes);
}

void CheckGrid(const HostKernel& kernel, const Grid& grid) {
  constexpr std::uint32_t kMostThreads = 1024, kMostRows = 65535;
  if (grid.threads == 0 || grid.threads > kMostThreads)
    KernelFails(kernel, "a block has 1 to 1024 threads");
  if (grid.blocks == 0 || grid.rows == 0 || grid.rows > kMostRows)
    KernelFails(kernel, "a grid has 1 block at least and 1 to 65535 rows");
}

void KernelFails(const HostKernel& kernel, const char* sentence) {
  std::fprintf(stderr, "kernel %s: %s\n", kernel.name, sentence);
  std::abort();
}

void FillWith(Poison poison, void* memory, std::size_t bytes) {
  auto* const to = static_cast<std::byte*>(memory);
  for (std::size_t done = 0; done < bytes; done += sizeof poison)
    std::memcpy(to + done, &poison, std::min(sizeof poison, bytes - done));
}

}  // namespace murmurate
