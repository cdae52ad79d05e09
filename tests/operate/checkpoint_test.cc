#include "server/operate/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

WeightsFile Weights(std::uint64_t steps) {
  WeightsFile file;
  file.spec = {{Box({2}), Discrete(2)}, {{3, Activation::kTanh}}, true, false};
  file.version = steps / 10;
  file.steps = steps;
  file.parameters = AlignedFloats(ParameterLayout(file.spec).total);
  file.parameters[0] = static_cast<float>(steps);
  return file;
}

TEST(Checkpoint, LatestIsTheLastWritten) {
  TemporaryFolder folder;
  ASSERT_TRUE(WriteCheckpoint(folder.path(), Weights(120)).ok());
  const auto second = WriteCheckpoint(folder.path(), Weights(123456));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, folder.path() + "/checkpoints/step-000000123456");
  EXPECT_EQ(fs::read_symlink(folder.path() + "/checkpoints/latest"), "step-000000123456");
  const auto read = ReadLatestCheckpoint(folder.path());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->steps, 123456u);
  EXPECT_EQ(read->version, 12345u);
  EXPECT_EQ(read->parameters[0], 123456.0f);
  EXPECT_EQ(read->spec, Weights(1).spec);
}

TEST(Checkpoint, LeavesNothingHalfWritten) {
  TemporaryFolder folder;
  ASSERT_TRUE(WriteCheckpoint(folder.path(), Weights(120)).ok());
  ASSERT_TRUE(WriteCheckpoint(folder.path(), Weights(120)).ok());
  for (const auto& entry : fs::directory_iterator(folder.path() + "/checkpoints"))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST(Checkpoint, MissingOneSaysWhatWritesIt) {
  TemporaryFolder folder;
  const auto read = ReadLatestCheckpoint(folder.path());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidData);
  EXPECT_THAT(read.status().message(), ::testing::HasSubstr("a run writes it when it stops"));
}

TEST(Checkpoint, TruncatedOneIsInvalidData) {
  TemporaryFolder folder;
  const auto written = WriteCheckpoint(folder.path(), Weights(120));
  ASSERT_TRUE(written.ok());
  fs::resize_file(*written + "/weights.safetensors", 40);
  const auto read = ReadLatestCheckpoint(folder.path());
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidData);
}

}  // namespace
}  // namespace murmurate
