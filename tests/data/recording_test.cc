// What is recorded comes back as it was, and what was torn or has rotted does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "server/data/record_format.h"
#include "server/data/recording_files.h"
#include "server/data/recording_source.h"
#include "server/data/segment_writer.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/safetensors.h"
#include "tests/experience/mixed_trajectory.h"
#include "tests/experience/sample_trajectory.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
constexpr std::uint64_t kPlenty = 1 << 20;

PolicyAndValue SampleSpec() { return {.spaces = SampleSpaces(), .trunk = {}}; }

std::vector<std::byte> RecordOf(const TrajectoryView& view, const TrajectoryLayout& layout) {
  std::vector<std::byte> record(MaxRecordBytes(layout));
  record.resize(WriteRecord(view, record));
  return record;
}

/// Sample trajectories of 4 steps; the i-th observes 10 i, 10 i + 1, ...
void Record(const std::string& folder, int first, int count, std::uint64_t max_bytes = kPlenty,
            const ModelSpec& spec = SampleSpec()) {
  auto writer = SegmentWriter::Open({folder, max_bytes}, "default", SegmentHeader(spec, 4));
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = first; i < first + count; ++i) {
    SampleTrajectory trajectory(4, 10.0f * static_cast<float>(i));
    trajectory.first_step = static_cast<std::uint64_t>(4 * i);
    ASSERT_TRUE(writer->Append(RecordOf(trajectory.View(), SampleLayout())).ok());
  }
}

/// The first observations of a source's trajectories, in order.
std::vector<float> Starts(const RecordingSource& source) {
  std::vector<float> starts;
  for (std::uint64_t i = 0; i < source.items(); ++i) {
    TrainingBatch batch(SampleLayout(), 1);
    EXPECT_TRUE(source.Fill({&i, 1}, &batch).ok());
    starts.push_back(batch.observation[0]);
  }
  return starts;
}

void Flip(const std::string& path, std::uint64_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(at));
  file.put(static_cast<char>(byte ^ 0x10));
}

TEST(RecordingTest, EveryColumnComesBack) {
  MixedTrajectory trajectory(4, 7);
  trajectory.agent = 3;
  trajectory.AllowEverything();
  trajectory.mask[4] = 0;
  trajectory.flags[1] = kTruncatedFlag;
  trajectory.flags[2] = kFirst;
  MixedTrajectory::AppendRow(99, 2, &trajectory.final_observation);
  TrajectoryView view = trajectory.View();
  const EpisodeRecord episode{12.5, 4, 0};
  view.episodes = {&episode, 1};
  view.first_step = 1000;
  ASSERT_TRUE(view.changes.Add(1, 2) && view.changes.Add(3, 9));
  const std::vector<std::byte> record = RecordOf(view, MixedLayout());
  EXPECT_EQ(record.size() % 64, 0u);
  AlignedFloats storage(record.size() / 4);
  std::memcpy(storage.data(), record.data(), record.size());
  const ReadRecord read = ReadRecordAt(std::as_bytes(std::span(storage.data(), storage.size())));
  ASSERT_TRUE(read.intact);
  EXPECT_TRUE(CheckTrajectory(read.view, MixedLayout()).ok());
  EXPECT_EQ(read.view.agent, 3u);
  EXPECT_EQ(read.view.first_step, 1000u);
  EXPECT_EQ(read.view.version, 1u);
  EXPECT_TRUE(std::ranges::equal(read.view.changes.all(), view.changes.all()));
  const auto same = [](auto a, auto b) {
    const auto x = std::as_bytes(a), y = std::as_bytes(b);
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  EXPECT_TRUE(same(read.view.observation, view.observation));
  EXPECT_TRUE(same(read.view.action, view.action));
  EXPECT_TRUE(same(read.view.log_prob, view.log_prob));
  EXPECT_TRUE(same(read.view.reward, view.reward));
  EXPECT_TRUE(same(read.view.flags, view.flags));
  EXPECT_TRUE(same(read.view.final_observation, view.final_observation));
  EXPECT_TRUE(same(read.view.next_observation, view.next_observation));
  EXPECT_TRUE(same(read.view.episodes, view.episodes));
  EXPECT_TRUE(same(read.view.mask, view.mask));
  EXPECT_TRUE(same(read.view.state0, view.state0));
  EXPECT_TRUE(same(read.view.frames0, view.frames0));
}

TEST(RecordingTest, FilesOfVersion1AreReadAndLaterOnesAreNot) {
  const TemporaryFolder folder;
  Record(folder.path(), 0, 2);
  const std::string path = ListSegments(folder.path())[0].path;
  const auto set_version = [&](char version) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(8);
    file.put(version);
  };
  set_version(1);  // without version changes a record is the same
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->items(), 2u);
  set_version(3);
  EXPECT_THAT(RecordingSource::Open(folder.path()).status().message(),
              HasSubstr("is a recording of version 3, expected 1 or 2"));
}

TEST(RecordingTest, AFolderGivesBackWhatWasRecordedInOrder) {
  const TemporaryFolder folder;
  Record(folder.path(), 0, 3);
  Record(folder.path(), 3, 2);  // another process: another segment
  EXPECT_EQ(ListSegments(folder.path()).size(), 2u);
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->items(), 5u);
  EXPECT_EQ((*source)->steps(), 20u);
  EXPECT_EQ((*source)->skipped(), 0u);
  EXPECT_EQ((*source)->spaces(), SampleSpaces());
  ASSERT_TRUE((*source)->PrepareFor(SampleSpec(), 4).ok());
  EXPECT_EQ(Starts(**source), (std::vector<float>{0, 10, 20, 30, 40}));
}

// Wherever a process is killed, the records before are there and the torn one is not.
TEST(RecordingTest, ATornLastRecordIsSkippedWhereverItWasCut) {
  const TemporaryFolder folder;
  Record(folder.path(), 0, 2);
  const std::string path = ListSegments(folder.path())[0].path;
  const std::uint64_t whole = std::filesystem::file_size(path);
  SampleTrajectory one(4, 0);
  const std::uint64_t record = RecordOf(one.View(), SampleLayout()).size();
  for (std::uint64_t cut = whole - 1; cut > whole - record; cut -= 7) {
    std::filesystem::resize_file(path, cut);
    const auto source = RecordingSource::Open(folder.path());
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->items(), 1u);
    EXPECT_EQ((*source)->skipped(), 1u);
  }
  std::filesystem::resize_file(path, 0);
  const auto nothing = RecordingSource::Open(folder.path());
  EXPECT_EQ(nothing.status().code(), StatusCode::kInvalidData);
  EXPECT_THAT(nothing.status().message(), HasSubstr("no whole trajectory"));
}

TEST(RecordingTest, ARottenRecordIsSkippedAndTheOthersAreThere) {
  SampleTrajectory one(4, 0);
  const std::uint64_t record = RecordOf(one.View(), SampleLayout()).size();
  const std::uint64_t header = SegmentHeader(SampleSpec(), 4).size();
  for (std::uint64_t byte = 8; byte < record; byte += 5) {
    if (byte >= 40 && byte < 84) continue;  // lengths: below
    const TemporaryFolder folder;
    Record(folder.path(), 0, 3);
    Flip(ListSegments(folder.path())[0].path, header + record + byte);
    const auto source = RecordingSource::Open(folder.path());
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->skipped(), 1u) << byte;
    ASSERT_TRUE((*source)->PrepareFor(SampleSpec(), 4).ok());
    EXPECT_EQ(Starts(**source), (std::vector<float>{0, 20})) << byte;
  }
}

TEST(RecordingTest, WhatFollowsALengthThatMakesNoSenseIsGivenUp) {
  const TemporaryFolder folder;
  Record(folder.path(), 0, 3);
  SampleTrajectory one(4, 0);
  const std::uint64_t record = RecordOf(one.View(), SampleLayout()).size();
  Flip(ListSegments(folder.path())[0].path, SegmentHeader(SampleSpec(), 4).size() + record + 41);
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->items(), 1u);
  EXPECT_EQ((*source)->skipped(), 1u);
}

TEST(RecordingTest, IsRotatedAndBoundedAndKeepsTheNewest) {
  const TemporaryFolder folder;
  SampleTrajectory one(4, 0);
  const std::uint64_t record = RecordOf(one.View(), SampleLayout()).size();
  const std::uint64_t header = SegmentHeader(SampleSpec(), 4).size();
  const std::uint64_t bound = 8 * (header + 2 * record);
  Record(folder.path(), 0, 100, bound);
  std::uint64_t total = 0;
  for (const SegmentFile& segment : ListSegments(folder.path())) total += segment.bytes;
  EXPECT_LE(total, bound);
  EXPECT_GE(total, bound - 2 * (header + 2 * record));
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_TRUE((*source)->PrepareFor(SampleSpec(), 4).ok());
  const std::vector<float> starts = Starts(**source);
  EXPECT_EQ(starts.back(), 990.0f);
  EXPECT_EQ(starts.front(), 990.0f - 10.0f * static_cast<float>(starts.size() - 1));
}

TEST(RecordingTest, AFullDiskCostsTheRecordAndNothingElse) {
  const TemporaryFolder folder;
  auto writer =
      SegmentWriter::Open({folder.path(), kPlenty}, "default", SegmentHeader(SampleSpec(), 4));
  ASSERT_TRUE(writer.ok()) << writer.status();
  SampleTrajectory one(4, 0), two(4, 10), three(4, 20);
  ASSERT_TRUE(writer->Append(RecordOf(one.View(), SampleLayout())).ok());
  const std::uint64_t full = std::filesystem::file_size(ListSegments(folder.path())[0].path) + 100;
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit limit{full, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const Status status = writer->Append(RecordOf(two.View(), SampleLayout()));
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_THAT(status.message(), HasSubstr("cannot be written"));
  ASSERT_TRUE(writer->Append(RecordOf(three.View(), SampleLayout())).ok());
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->skipped(), 0u);  // the half that was written was cut off again
  ASSERT_TRUE((*source)->PrepareFor(SampleSpec(), 4).ok());
  EXPECT_EQ(Starts(**source), (std::vector<float>{0, 20}));
}

TEST(RecordingTest, RefusesInWords) {
  const TemporaryFolder folder;
  EXPECT_THAT(RecordingSource::Open(folder.path() + "/none").status().message(),
              HasSubstr("holds no recording"));
  Record(folder.path(), 0, 2);
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  PolicyAndValue other = SampleSpec();
  other.spaces.action = Discrete(3);
  EXPECT_THAT((*source)->PrepareFor(other, 4).message(), HasSubstr("action: expected discrete 3"));
  EXPECT_THAT((*source)->PrepareFor(SampleSpec(), 3).message(),
              HasSubstr("got 3, expected at least 4"));
  Record(folder.path(), 2, 1, kPlenty, other);
  EXPECT_THAT(RecordingSource::Open(folder.path()).status().message(),
              HasSubstr("recorded of another model"));
  std::ofstream(folder.path() + "/default-000009.traj") << "something else, quite long enough";
  std::filesystem::remove(SegmentPath(folder.path(), "default", 2));
  EXPECT_THAT(RecordingSource::Open(folder.path()).status().message(),
              HasSubstr("default-000009.traj: is no recording"));
}

/// Of one trajectory of two steps whose one number was recorded as `samples`.
std::vector<float> LearnedSamples(const ContinuousSettings& recorded_as,
                                  const ContinuousSettings& learned_as,
                                  const std::vector<float>& samples) {
  const auto spec = [](const ContinuousSettings& continuous) {
    return PolicyAndValue{.spaces = {Box({2}), Box({1}, 0, 100)},
                          .trunk = {{4, Activation::kTanh}},
                          .continuous = continuous};
  };
  const TemporaryFolder folder;
  SampleTrajectory trajectory(static_cast<int>(samples.size()), 0);
  for (std::size_t i = 0; i < samples.size(); ++i)
    trajectory.action[i] = std::bit_cast<std::int32_t>(samples[i]);
  {
    auto writer = SegmentWriter::Open({folder.path(), kPlenty}, "default",
                                      SegmentHeader(spec(recorded_as), 4));
    const TrajectoryLayout layout(spec(recorded_as), 4);
    EXPECT_TRUE(writer->Append(RecordOf(trajectory.View(), layout)).ok());
  }
  const auto source = RecordingSource::Open(folder.path());
  EXPECT_TRUE((*source)->PrepareFor(spec(learned_as), 4).ok());
  TrainingBatch batch(TrajectoryLayout(spec(learned_as), 4), 2);
  const std::uint64_t twice[] = {0, 0};
  EXPECT_TRUE((*source)->Fill(twice, &batch).ok());
  std::vector<float> learned;
  for (std::size_t i = 4; i < 4 + samples.size(); ++i)  // of the second
    learned.push_back(std::bit_cast<float>(batch.action[i]));
  return learned;
}

// A box of 0 to 100: its middle is 50, half of its width 50.
TEST(RecordingTest, SamplesAreLearnedInTheModelsUnitsWhicheverTheyWereRecordedIn) {
  const ContinuousSettings plain, scaled{.scaled = true};
  EXPECT_EQ(LearnedSamples(plain, scaled, {50, 100, 25}), (std::vector<float>{0, 1, -0.5f}));
  EXPECT_EQ(LearnedSamples(scaled, plain, {0, 1, -0.5f}), (std::vector<float>{50, 100, 25}));
  EXPECT_EQ(LearnedSamples(scaled, scaled, {0.3f, 7}), (std::vector<float>{0.3f, 7}));
  EXPECT_EQ(LearnedSamples(plain, plain, {0.3f, 7}), (std::vector<float>{0.3f, 7}));
}

// Samples of another kind are what the game got.
TEST(RecordingTest, ActionsOfOtherAlgorithmsAreLearnedAsThisOneRecordsThem) {
  const ContinuousSettings scaled{.scaled = true}, squashed{.squashed = true},
      deterministic{.squashed = true, .deterministic = true};
  const float u = 0.7f, a = std::tanh(u);
  const auto near = [](const std::vector<float>& numbers) {
    return testing::Pointwise(testing::FloatNear(2e-6f), numbers);
  };
  EXPECT_THAT(LearnedSamples(squashed, scaled, {0, u, -u}), near({0, a, -a}));
  EXPECT_THAT(LearnedSamples(scaled, squashed, {0, a, -a}), near({0, u, -u}));
  EXPECT_THAT(LearnedSamples(squashed, deterministic, {0, u, -u}), near({0, a, -a}));
  EXPECT_THAT(LearnedSamples(deterministic, squashed, {0, a, -a}), near({0, u, -u}));
  EXPECT_THAT(LearnedSamples(scaled, deterministic, {0.3f, 7}), near({0.3f, 1}))
      << "the game got the end of its box";
  EXPECT_EQ(LearnedSamples(squashed, squashed, {0.3f, 7}), (std::vector<float>{0.3f, 7}));
  const float end = LearnedSamples(scaled, squashed, {7})[0];
  EXPECT_TRUE(std::isfinite(end) && std::tanh(end) > 0.99999f) << end;
}

TEST(RecordingTest, AModelReadsThePreviousStepWhereTheOneThatPlayedDid) {
  const TemporaryFolder folder;
  Record(folder.path(), 1, 1);
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  PolicyAndValue other = SampleSpec();
  other.previous.reward = true;
  EXPECT_THAT((*source)->PrepareFor(other, 4).message(),
              HasSubstr("got false and true, but " + folder.path() +
                        " was recorded by a model for which they were false and false"));
}

// Another model of the same spaces learns from it: what it remembers begins with zeros.
TEST(RecordingTest, AnotherModelsStateAndFramesBecomeZeros) {
  const TemporaryFolder folder;
  MixedTrajectory trajectory(4, 7);
  {
    auto writer =
        SegmentWriter::Open({folder.path(), kPlenty}, "default", SegmentHeader(MixedSpec(), 4));
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE(writer->Append(RecordOf(trajectory.View(), MixedLayout())).ok());
  }
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  ModelSpec smaller = MixedSpec();
  smaller.networks[0].trunk = {*Layer::Parse("gru 3")};
  ASSERT_TRUE((*source)->PrepareFor(smaller, 6).ok());
  TrainingBatch batch(TrajectoryLayout(smaller, 6), 1);
  const std::uint64_t first = 0;
  ASSERT_TRUE((*source)->Fill({&first, 1}, &batch).ok());
  EXPECT_EQ(std::vector<float>(batch.state0.begin(), batch.state0.end()),
            std::vector<float>(3, 0.0f));
  EXPECT_EQ(PositionIn(batch.ObservationRow(3)), 10.0f);
  EXPECT_EQ(batch.weight[3], 1.0f);
  EXPECT_EQ(batch.weight[4], 0.0f);
  ASSERT_TRUE((*source)->PrepareFor(MixedSpec(), 4).ok());
  TrainingBatch same(MixedLayout(), 1);
  ASSERT_TRUE((*source)->Fill({&first, 1}, &same).ok());
  EXPECT_EQ(same.state0[4], 7.0f);
}

}  // namespace
}  // namespace murmurate
