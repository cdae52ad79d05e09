// Kernels that tests of the runners run: right ones, and ones that break a rule each.
#pragma once

#include "server/compute/device/kernel_language.h"
#include "tests/device/kernel_block.h"

namespace murmurate {

/// sums[block] <- the sum of x over the block.
struct BlockSumCall {
  const float* x;
  float* sums;
};
MURMURATE_KERNEL(BlockSum) {
  MURMURATE_SHARED(float, parts, 32);
  const float sum = SumOverBlock(call.x[GlobalThread()], parts);
  if (Thread() == 0) call.sums[Block() + GridRow() * Blocks()] = sum;
}

/// y <- x, each block's part backwards, by way of a shared array.
struct BackwardsCall {
  const float* x;
  float* y;
};
MURMURATE_KERNEL(Backwards) {
  MURMURATE_SHARED(float, block, 256);
  block[Thread()] = call.x[GlobalThread()];
  SyncThreads();
  call.y[GlobalThread()] = block[Threads() - 1 - Thread()];
}

/// Backwards without its barrier.
using BackwardsUnsyncedCall = BackwardsCall;
MURMURATE_KERNEL(BackwardsUnsynced) {
  MURMURATE_SHARED(float, block, 256);
  block[Thread()] = call.x[GlobalThread()];
  call.y[GlobalThread()] = block[Threads() - 1 - Thread()];
}

/// Backwards by way of the block's memory, of as many floats as threads.
using BackwardsInMemoryCall = BackwardsCall;
MURMURATE_KERNEL(BackwardsInMemory) {
  MURMURATE_BLOCK_MEMORY(float, block);
  block[Thread()] = call.x[GlobalThread()];
  SyncThreads();
  call.y[GlobalThread()] = block[Threads() - 1 - Thread()];
}

/// y <- what the thread `distance` further has as x.
struct ShuffleByCall {
  const float* x;
  float* y;
  unsigned distance;
};
MURMURATE_KERNEL(ShuffleBy) {
  call.y[GlobalThread()] = ShuffleDown(call.x[GlobalThread()], call.distance);
}

/// One thread ends before the barrier.
struct EarlyEndCall {};
MURMURATE_KERNEL(EarlyEnd) {
  static_cast<void>(call);
  if (Thread() == 1) return;
  SyncThreads();
}

/// Half of a warp waits for a shuffle, half for the block.
struct MixedBarriersCall {};
MURMURATE_KERNEL(MixedBarriers) {
  static_cast<void>(call);
  if (Thread() % 2 == 0) {
    SyncThreads();
  } else {
    ShuffleDown(1.0f, 1);
  }
}

/// More shared memory than a block has.
struct LargeSharedCall {};
MURMURATE_KERNEL(LargeShared) {
  static_cast<void>(call);
  MURMURATE_SHARED(double, a, 4000);
  MURMURATE_SHARED(double, b, 4000);
  a[0] = b[0];
}

const HostKernel kBlockSum = MURMURATE_HOST_KERNEL(BlockSum);
const HostKernel kBackwards = MURMURATE_HOST_KERNEL(Backwards);
const HostKernel kBackwardsUnsynced = MURMURATE_HOST_KERNEL(BackwardsUnsynced);
const HostKernel kBackwardsInMemory = MURMURATE_HOST_KERNEL(BackwardsInMemory);
const HostKernel kShuffleBy = MURMURATE_HOST_KERNEL(ShuffleBy);
const HostKernel kEarlyEnd = MURMURATE_HOST_KERNEL(EarlyEnd);
const HostKernel kMixedBarriers = MURMURATE_HOST_KERNEL(MixedBarriers);
const HostKernel kLargeShared = MURMURATE_HOST_KERNEL(LargeShared);

}  // namespace murmurate
