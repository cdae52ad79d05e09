// Whatever is wrong with a checkpoint's files is found, said, and costs only that checkpoint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "server/operate/checkpoint.h"
#include "shared/core/random.h"
#include "shared/model/safetensors.h"
#include "tests/operate/sample_checkpoint.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr std::uint64_t kGood = 100, kBad = 200;
const std::vector<std::string> kFiles = {"MANIFEST.json", "weights.safetensors",
                                         "optimizer.safetensors", "state.json"};

class DamagedCheckpoint : public ::testing::Test {
 protected:
  DamagedCheckpoint() {
    EXPECT_TRUE(WriteCheckpoint(folder_.path(), SampleCheckpoint(kGood)).ok());
    place_ = *WriteCheckpoint(folder_.path(), SampleCheckpoint(kBad));
  }
  std::string Bytes(const std::string& name) const {
    return *ReadFile(place_ + '/' + name, 1 << 20);
  }
  void Overwrite(const std::string& name, const std::string& bytes) const {
    std::ofstream(place_ + '/' + name, std::ios::binary | std::ios::trunc) << bytes;
  }
  /// What the one warning about the damaged one says, when it is skipped and the good one loads.
  std::string Skipped() const {
    std::vector<std::string> log;
    const auto found =
        ReadNewestCheckpoint(folder_.path(), [&](LogLevel level, std::string_view line) {
          EXPECT_EQ(level, LogLevel::kWarning);
          log.emplace_back(line);
        });
    if (!found.ok() || found->checkpoint.weights.steps != kGood || log.size() != 2) return "";
    return log[0];
  }

  TemporaryFolder folder_{"/dev/shm"};
  std::string place_;
};

TEST_F(DamagedCheckpoint, IsFoundWhereverAFileIsCutOff) {
  for (const std::string& name : kFiles) {
    const std::string whole = Bytes(name);
    const bool body = name.ends_with("safetensors");
    std::uint64_t header = whole.size();
    if (body) std::copy_n(whole.data(), sizeof header, reinterpret_cast<char*>(&header));
    const std::size_t every = body ? std::min<std::size_t>(header + 8, whole.size()) : whole.size();
    for (std::size_t size = 0; size < whole.size(); size += size < every ? 1 : 5) {
      fs::resize_file(place_ + '/' + name, size);
      ASSERT_NE(Skipped(), "") << name << " cut off at " << size;
      Overwrite(name, whole);
    }
    Overwrite(name, whole + '\0');
    EXPECT_NE(Skipped(), "") << name << " is longer";
    Overwrite(name, whole);
  }
}

TEST_F(DamagedCheckpoint, IsFoundByEverySingleBit) {
  Random random(3);
  for (const std::string& name : kFiles) {
    const std::string whole = Bytes(name);
    for (int flip = 0; flip < 1000; ++flip) {
      const std::uint32_t bit = random.UniformInt(static_cast<std::uint32_t>(8 * whole.size()));
      std::string damaged = whole;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      Overwrite(name, damaged);
      ASSERT_NE(Skipped(), "") << name << ", bit " << bit;
    }
    Overwrite(name, whole);
  }
  EXPECT_EQ(ReadNewestCheckpoint(folder_.path(), {})->checkpoint.weights.steps, kBad);
}

TEST_F(DamagedCheckpoint, MayLackAFileOrHaveOneMore) {
  for (const std::string& name : kFiles) {
    const std::string whole = Bytes(name);
    fs::remove(place_ + '/' + name);
    EXPECT_THAT(Skipped(), HasSubstr("cannot open " + place_ + '/' + name + ": No such file"));
    fs::create_directory(place_ + '/' + name);
    EXPECT_THAT(Skipped(), HasSubstr("it is no regular file"));
    fs::remove(place_ + '/' + name);
    ASSERT_EQ(mkfifo((place_ + '/' + name).c_str(), 0600), 0);
    EXPECT_THAT(Skipped(), HasSubstr("it is no regular file"));
    fs::remove(place_ + '/' + name);
    Overwrite(name, whole);
  }
  Overwrite("weights.safetensors.bak", "x");
  EXPECT_THAT(Skipped(), HasSubstr("weights.safetensors.bak: is not in the checkpoint's MANIFEST"));
}

TEST_F(DamagedCheckpoint, LinksInsideAreNotFollowedAndLoopsEnd) {
  fs::rename(place_ + "/state.json", folder_.path() + "/state.json");
  fs::create_symlink(folder_.path() + "/state.json", place_ + "/state.json");
  EXPECT_THAT(Skipped(), HasSubstr("state.json"));
  fs::remove_all(place_);
  fs::create_directory_symlink("step-000000000300", CheckpointFolder(folder_.path(), kBad));
  EXPECT_THAT(Skipped(), HasSubstr("is a link where a folder was expected"));
  fs::create_directory_symlink("b", folder_.path() + "/a");
  fs::create_directory_symlink("a", folder_.path() + "/b");
  EXPECT_THAT(ReadCheckpoint(folder_.path() + "/a").status().message(),
              HasSubstr("Too many levels of symbolic links"));
}

TEST_F(DamagedCheckpoint, OfANewerFormatIsRefusedWithWhatToDo) {
  std::string manifest = Bytes("MANIFEST.json");
  manifest.replace(manifest.find("\"format\": 2"), 11, "\"format\": 3");
  Overwrite("MANIFEST.json", manifest);
  EXPECT_THAT(Skipped(), HasSubstr("has the format 3 where 2 was expected: another version of "
                                   "murmurate wrote it; use that one"));
}

TEST_F(DamagedCheckpoint, PutTogetherFromTwoIsRefused) {
  for (const std::string& name : kFiles) {
    const std::string whole = Bytes(name);
    fs::copy_file(CheckpointFolder(folder_.path(), kGood) + '/' + name, place_ + '/' + name,
                  fs::copy_options::overwrite_existing);
    EXPECT_NE(Skipped(), "") << name;
    Overwrite(name, whole);
  }
}

TEST_F(DamagedCheckpoint, RenamedToALaterStepIsRefused) {
  fs::rename(place_, CheckpointFolder(folder_.path(), 900));
  EXPECT_THAT(Skipped(), HasSubstr("holds step 200: it was renamed"));
  fs::rename(CheckpointFolder(folder_.path(), 900), folder_.path() + "/moved");
  EXPECT_TRUE(ReadCheckpoint(folder_.path() + "/moved").ok()) << "a copy by another name is good";
}

}  // namespace
}  // namespace murmurate
