#include "server/device/pinned_memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "server/experience/training_batch.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/still_device.h"

namespace murmurate {
namespace {

PolicyAndValue Spec() { return {.spaces = {Box({3}), Discrete(2)}, .trunk = {}}; }

TEST(PinnedMemory, TheDeviceStaysUntilTheLastBatchIsGone) {
  StillDevice::Counts counts;
  auto memory = PinnedMemory::Of(std::make_shared<StillDevice>(&counts));
  const TrajectoryLayout layout(Spec(), 8);
  auto first = std::make_unique<TrainingBatch>(layout, 4, *memory);
  auto second = std::make_unique<TrainingBatch>(layout, 4, *memory);
  EXPECT_EQ(counts.blocks, 2);
  memory.reset();
  first.reset();
  EXPECT_EQ(counts.devices, 1);
  second.reset();
  EXPECT_EQ(counts.devices, 0);
  EXPECT_EQ(counts.blocks, 0);
  EXPECT_FALSE(counts.freed_late);
}

TEST(PinnedMemory, ItOutlivesItsLastBatchWhereItIsHeld) {
  StillDevice::Counts counts;
  auto memory = PinnedMemory::Of(std::make_shared<StillDevice>(&counts));
  for (int round = 0; round < 3; ++round) {
    std::byte* const block = memory->Allocate(1000);
    memory->Free(block, 1000);
    EXPECT_EQ(counts.devices, 1);
  }
  memory.reset();
  EXPECT_EQ(counts.devices, 0);
}

TEST(PinnedMemory, WhereThereIsNoneLeftBatchesLieInPlainMemory) {
  StillDevice::Counts counts;
  auto memory = PinnedMemory::Of(std::make_shared<StillDevice>(&counts));
  counts.most_blocks = 1;
  std::byte* const pinned = memory->Allocate(1000);
  std::byte* const plain = memory->Allocate(1000);
  EXPECT_EQ(counts.blocks, 1);
  std::fill_n(plain, 1000, std::byte{7});
  memory->Free(pinned, 1000);
  EXPECT_EQ(counts.blocks, 0);
  memory->Free(plain, 1000);
  memory.reset();
  EXPECT_EQ(counts.devices, 0);
}

}  // namespace
}  // namespace murmurate
