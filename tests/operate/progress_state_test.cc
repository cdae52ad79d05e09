#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/operate/progress.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TrainingUpdate Update(std::uint64_t steps, double raw_return) {
  TrainingUpdate update;
  update.environment_steps = steps;
  update.learned_steps = steps - 50;
  update.dropped_steps = steps / 10;
  update.late_steps = 7;
  update.trained_steps = 100;
  update.updates = 8;
  update.version = steps / 100 + 1;
  update.episodes = {{raw_return, 20, 0}};
  return update;
}

TEST(ProgressState, GoesOnWithItsCountersItsWindowAndItsTime) {
  Progress whole(0), first(0);
  for (int i = 1; i <= 60; ++i) {
    whole.Take(Update(static_cast<std::uint64_t>(100 * i), i));
    first.Take(Update(static_cast<std::uint64_t>(100 * i), i));
  }
  SavedState state;
  first.Save(40 * kSecond, StateWriter(&state, "progress"));
  Progress second(1000 * kSecond);  // another boot: another clock
  ASSERT_TRUE(second.Load(StateReader(state, "progress"), 5950).ok());
  EXPECT_EQ(second.steps(), 6000u);
  EXPECT_EQ(second.learned_steps(), 5950u) << "the checkpoint's number";
  EXPECT_EQ(second.last().version, 61u);
  EXPECT_DOUBLE_EQ(second.elapsed_s(1002 * kSecond), 42.0);
  for (int i = 61; i <= 130; ++i) {
    whole.Take(Update(static_cast<std::uint64_t>(100 * i), i));
    second.Take(Update(static_cast<std::uint64_t>(100 * i), i));
  }
  EXPECT_EQ(second.mean_return(), whole.mean_return());
  EXPECT_DOUBLE_EQ(*second.mean_return(), (31 + 130) / 2.0) << "the last 100 of both lives";
  EXPECT_EQ(second.mean_length(), whole.mean_length());
  EXPECT_EQ(second.episodes(), 130u);
  EXPECT_EQ(second.last().trained_steps, 13000u);
  EXPECT_EQ(second.last().updates, 1040u);
  EXPECT_EQ(second.last().dropped_steps, 1300u);
  EXPECT_EQ(second.last().late_steps, 910u) << "seven a batch, of both lives";
}

TEST(ProgressState, WithoutOneOfItsNamesItIsRefused) {
  Progress progress(0);
  progress.Take(Update(100, 1.0));
  SavedState state;
  progress.Save(0, StateWriter(&state, "progress"));
  state.words.erase("progress.window_lengths");
  Progress other(0);
  EXPECT_EQ(other.Load(StateReader(state, "progress"), 50).code(), StatusCode::kInvalidData);
}

std::string Text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Of a run that has taken so many steps, and learned from 100 of them.
Progress LoadedAt(std::uint64_t steps) {
  Progress progress(0);
  progress.Take(Update(steps, 1.0));
  return progress;
}

TEST(ProgressState, RowsOfALifeThatWasLostAreCutOffLoudly) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  std::ofstream(path) << ProgressFile::Header()
                      << "100,,,50,a\n200,,,100,b\n200,,,150,later\n300,,,100,c\n40";
  std::string said;
  const LogCallback log = [&](LogLevel level, std::string_view text) {
    EXPECT_EQ(level, LogLevel::kWarning);
    said = text;
  };
  auto file = ProgressFile::GoOn(path, LoadedAt(200), log);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NE(said.find("3 rows after step 200"), std::string::npos) << said;
  ASSERT_TRUE(file->Append("250,d\n").ok());
  EXPECT_EQ(Text(path), ProgressFile::Header() + "100,,,50,a\n200,,,100,b\n250,d\n");
}

TEST(ProgressState, AFileOfAnotherVersionIsKeptAside) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  std::ofstream(path) << "other,columns\n1,2\n";
  auto file = ProgressFile::GoOn(path, LoadedAt(200), {});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Text(path), ProgressFile::Header());
  EXPECT_EQ(Text(path + ".1"), "other,columns\n1,2\n");
}

TEST(ProgressState, AFileOfAnEarlierVersionThatLacksTheLastColumnsGetsThem) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv", present = ProgressFile::Header();
  std::ofstream(path) << present.substr(0, present.rfind(",time/learned_steps")) + "\n"
                      << "100,,,50,a\n200,,,100,b\n";
  auto file = ProgressFile::GoOn(path, LoadedAt(200), [](LogLevel, std::string_view text) {
    FAIL() << "nothing was cut off: " << text;
  });
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Text(path), present + "100,,,50,a,,\n200,,,100,b,,\n");
}

}  // namespace
}  // namespace murmurate
