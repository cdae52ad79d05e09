#include "server/operate/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "shared/model/safetensors.h"
#include "tests/operate/sample_checkpoint.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string Written(const TemporaryFolder& folder, const Checkpoint& checkpoint) {
  const auto written = WriteCheckpoint(folder.path(), checkpoint);
  EXPECT_TRUE(written.ok()) << written.status();
  return written.ok() ? *written : "";
}

std::uint64_t NewestStep(const TemporaryFolder& folder, std::vector<std::string>* log = nullptr) {
  const auto found = ReadNewestCheckpoint(folder.path(), [&](LogLevel, std::string_view line) {
    if (log) log->emplace_back(line);
  });
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? found->checkpoint.weights.steps : 0;
}

TEST(Checkpoint, GivesBackEveryBitThatWasWritten) {
  TemporaryFolder folder;
  Checkpoint saved = SampleCheckpoint(123456);
  saved.mean_return = -0.1;
  saved.settings = {{"algorithm.name", "\"ppo\""}};
  saved.state.words["a.b"] = {0, (1ull << 53) + 1, UINT64_MAX};
  saved.state.doubles["d"] = {0.1, -0.0, 5e-324, 1.7976931348623157e308, kInfinity, -kInfinity};
  saved.state.doubles["none"] = {};
  saved.state.floats["f"] = {1e-45f, -0.0f, std::numeric_limits<float>::infinity()};
  saved.state.floats["none"] = {};
  saved.environment_steps = 200'000;
  const std::string place = Written(folder, saved);
  EXPECT_EQ(place, folder.path() + "/checkpoints/step-000000123456");
  const auto read = ReadCheckpoint(place);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->state, saved.state);
  EXPECT_TRUE(std::signbit(read->state.doubles.at("d")[1]));
  EXPECT_TRUE(std::signbit(read->state.floats.at("f")[1]));
  EXPECT_EQ(read->mean_return, -0.1);
  EXPECT_EQ(read->settings, saved.settings);
  EXPECT_EQ(read->weights.steps, 123456u);
  EXPECT_EQ(read->environment_steps, 200'000u);
  EXPECT_EQ(read->weights.version, saved.weights.version);
  EXPECT_EQ(read->weights.spec, saved.weights.spec);
  ASSERT_EQ(read->weights.parameters.size(), saved.weights.parameters.size());
  EXPECT_TRUE(std::equal(saved.weights.parameters.begin(), saved.weights.parameters.end(),
                         read->weights.parameters.begin()));
}

TEST(Checkpoint, KeepsTheBitsOfWhatIsNoNumber) {
  TemporaryFolder folder;
  Checkpoint saved = SampleCheckpoint(1);
  const std::uint64_t bits = 0xfff8000000000123;
  saved.state.doubles["d"] = {std::bit_cast<double>(bits)};
  const auto read = ReadCheckpoint(Written(folder, saved));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(std::bit_cast<std::uint64_t>(read->state.doubles.at("d")[0]), bits);
}

TEST(Checkpoint, TheNewestIsTheHighestStepWhateverTheClockAndTheLinkSay) {
  TemporaryFolder folder;
  Written(folder, SampleCheckpoint(2000));
  const std::string older = Written(folder, SampleCheckpoint(999));  // written later
  EXPECT_EQ(fs::read_symlink(folder.path() + "/checkpoints/latest"), "step-000000000999");
  EXPECT_EQ(NewestStep(folder), 2000u);
  EXPECT_THAT(CheckpointSteps(folder.path()), ElementsAre(999, 2000));
}

TEST(Checkpoint, LeavesNothingHalfWrittenAndSweepsWhatOthersLeft) {
  TemporaryFolder folder;
  fs::create_directories(folder.path() + "/checkpoints/.tmp-step-000000000001/x");
  Written(folder, SampleCheckpoint(120));
  Written(folder, SampleCheckpoint(120));
  for (const auto& entry : fs::directory_iterator(folder.path() + "/checkpoints"))
    EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
}

TEST(Checkpoint, OfTheSameStepIsKeptWhenItVerifies) {
  TemporaryFolder folder;
  const std::string place = Written(folder, SampleCheckpoint(120));
  const auto written_at = fs::last_write_time(place + "/MANIFEST.json");
  Written(folder, SampleCheckpoint(120));
  EXPECT_EQ(fs::last_write_time(place + "/MANIFEST.json"), written_at);

  fs::resize_file(place + "/state.json", 3);
  Written(folder, SampleCheckpoint(120));
  EXPECT_EQ(NewestStep(folder), 120u);

  Checkpoint later = SampleCheckpoint(120);  // trained once more, on steps that had come before
  ++later.weights.version;
  EXPECT_EQ(ReadCheckpoint(Written(folder, later))->weights.version, later.weights.version);
}

TEST(Checkpoint, ABadOneIsSkippedLoudlyAndThePreviousLoads) {
  TemporaryFolder folder;
  Written(folder, SampleCheckpoint(100));
  const std::string bad = Written(folder, SampleCheckpoint(200));
  fs::resize_file(bad + "/weights.safetensors", 40);
  std::vector<std::string> log;
  EXPECT_EQ(NewestStep(folder, &log), 100u);
  ASSERT_EQ(log.size(), 2u);
  EXPECT_THAT(log[0], HasSubstr(bad + "/weights.safetensors has 40 bytes where "));
  EXPECT_THAT(log[1], HasSubstr("falling back to the checkpoint of step 100"));
}

TEST(Checkpoint, WhenNoneIsGoodTheStatusNamesAllThatIsWrong) {
  TemporaryFolder folder;
  for (const std::uint64_t step : {100, 200})
    fs::remove(Written(folder, SampleCheckpoint(step)) + "/state.json");
  const auto found = ReadNewestCheckpoint(folder.path(), {});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::kInvalidData);
  for (const char* step : {"step-000000000100/state.json", "step-000000000200/state.json"})
    EXPECT_THAT(found.status().message(), HasSubstr(step));
}

TEST(Checkpoint, MissingOneSaysWhatWritesIt) {
  TemporaryFolder folder;
  const auto read = ReadNewestCheckpoint(folder.path(), {});
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidData);
  EXPECT_THAT(read.status().message(), HasSubstr("a run writes one every checkpoint.every_s"));
}

TEST(Checkpoint, WeightsThatAreNotFiniteNeverTakeTheLastGoodOnesPlace) {
  TemporaryFolder folder;
  Written(folder, SampleCheckpoint(100));
  Checkpoint wrong = SampleCheckpoint(200);
  wrong.weights.parameters[1] = NAN;
  const auto written = WriteCheckpoint(folder.path(), wrong);
  ASSERT_FALSE(written.ok());
  EXPECT_THAT(written.status().message(), HasSubstr("not finite"));
  EXPECT_THAT(CheckpointSteps(folder.path()), ElementsAre(100));
}

TEST(Checkpoint, OfAnotherModelIsRefusedInOneSentence) {
  const FoundCheckpoint found{SampleCheckpoint(1), "F"};
  EXPECT_TRUE(CheckSameModel(found, found.checkpoint.weights.spec).ok());
  ModelSpec other = found.checkpoint.weights.spec;
  other.networks = SampleCheckpoint(1, 4).weights.spec.networks;
  EXPECT_EQ(CheckSameModel(found, other).message(),
            "F is of another model: it has \"dense 3 tanh\" where \"dense 4 tanh\" was expected; "
            "go on with the config it was made with, or start another run");
}

TEST(Checkpoint, OnlyWhatRetentionNamesStays) {
  TemporaryFolder folder;
  for (const std::uint64_t step : {40, 99, 100, 150, 205, 290, 310, 320, 330})
    Written(folder, SampleCheckpoint(step));
  ASSERT_TRUE(PruneCheckpoints(folder.path(), {.keep = 2, .keep_every = 100}, 330).ok());
  // The first at or after 100, 200, 300; the newest two.
  EXPECT_THAT(CheckpointSteps(folder.path()), ElementsAre(100, 205, 310, 320, 330));
  ASSERT_TRUE(PruneCheckpoints(folder.path(), {.keep = 1, .keep_every = 0}, 320).ok());
  EXPECT_THAT(CheckpointSteps(folder.path()), ElementsAre(320, 330))
      << "what lies after the step that was just verified is left alone";
}

Checkpoint Scored(std::uint64_t steps, double mean_return,
                  std::map<std::string, double> settings = {}) {
  Checkpoint checkpoint = SampleCheckpoint(steps);
  checkpoint.state = {};
  checkpoint.evaluated = {mean_return, std::move(settings)};
  return checkpoint;
}

/// Names of what lies on the checkpoints, sorted.
std::vector<std::string> FolderContents(const TemporaryFolder& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path() + "/checkpoints"))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(BestCheckpoint, IsTheOneThatCameToMostAndAloneAndNoneThatARunGoesOnFrom) {
  TemporaryFolder folder;
  Written(folder, SampleCheckpoint(150));
  for (const auto& [steps, mean] : {std::pair{100, 5.0}, {200, 7.5}, {300, 7.5}, {400, -1.0}})
    ASSERT_TRUE(KeepBest(folder.path(), Scored(steps, mean), {}).ok());
  EXPECT_THAT(FolderContents(folder),
              ElementsAre("best", "best-step-000000000200", "latest", "step-000000000150"));
  const std::string checkpoints = folder.path() + "/checkpoints";
  EXPECT_EQ(fs::read_symlink(checkpoints + "/best"), "best-step-000000000200");
  EXPECT_EQ(fs::read_symlink(checkpoints + "/latest"), "step-000000000150");
  const auto best = ReadBestCheckpoint(folder.path(), {});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->folder, checkpoints + "/best-step-000000000200");
  EXPECT_EQ(best->checkpoint.evaluated, (EvaluatedReturn{7.5, {}}));
  EXPECT_EQ(best->checkpoint.weights.parameters[0], 200.0f);
  EXPECT_EQ(NewestStep(folder), 150u);

  Written(folder, SampleCheckpoint(160));
  ASSERT_TRUE(PruneCheckpoints(folder.path(), {.keep = 2}, 160).ok());
  EXPECT_THAT(CheckpointSteps(folder.path()), ElementsAre(150, 160)) << "it took a place";
  ASSERT_TRUE(PruneCheckpoints(folder.path(), {.keep = 1}, 160).ok());
  EXPECT_THAT(FolderContents(folder),
              ElementsAre("best", "best-step-000000000200", "latest", "step-000000000160"));
}

TEST(BestCheckpoint, GivesWayToOnePlayedUnderOtherSettingsHoweverItPlayed) {
  TemporaryFolder folder;
  const auto best = [&] { return ReadBestCheckpoint(folder.path(), {})->checkpoint.weights.steps; };
  ASSERT_TRUE(KeepBest(folder.path(), Scored(100, 9, {{"difficulty", 0.1}}), {}).ok());
  ASSERT_TRUE(KeepBest(folder.path(), Scored(200, 2, {{"difficulty", 0.3}}), {}).ok());
  EXPECT_EQ(best(), 200u);
  ASSERT_TRUE(KeepBest(folder.path(), Scored(300, 1, {{"difficulty", 0.3}}), {}).ok());
  EXPECT_EQ(best(), 200u);
}

TEST(BestCheckpoint, OneThatIsDamagedGivesWayLoudlyAndOneOfTheSameStepIsReplaced) {
  TemporaryFolder folder;
  const auto first = KeepBest(folder.path(), Scored(100, 9), {});
  ASSERT_TRUE(KeepBest(folder.path(), Scored(100, 10), {}).ok());  // after a resume from before it
  EXPECT_EQ(ReadBestCheckpoint(folder.path(), {})->checkpoint.evaluated->mean_return, 10);
  fs::resize_file(*first + "/weights.safetensors", 40);
  EXPECT_THAT(ReadBestCheckpoint(folder.path(), {}).status().message(),
              HasSubstr("weights.safetensors has 40 bytes where "));
  std::string said;
  ASSERT_TRUE(KeepBest(folder.path(), Scored(200, 3), [&](LogLevel, std::string_view line) {
                said += line;
              }).ok());
  EXPECT_THAT(said, HasSubstr("best checkpoint skipped: " + *first));
  EXPECT_THAT(FolderContents(folder), ElementsAre("best", "best-step-000000000200"));
}

}  // namespace
}  // namespace murmurate
