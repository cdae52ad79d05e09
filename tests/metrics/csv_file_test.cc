#include "server/metrics/csv_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/metrics/model_metrics.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

std::size_t CountOf(const std::string& text, char c) {
  return static_cast<std::size_t>(std::ranges::count(text, c));
}

std::string Text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Of a run that has taken so many steps, and learned from 100 of them.
Reading LoadedAt(std::uint64_t steps) {
  Reading reading;
  reading.Set(kEnvironmentSteps, steps);
  reading.Set(kTrainedSteps, 100);
  return reading;
}

TEST(CsvFile, RowsOfALifeThatWasLostAreCutOffLoudly) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  std::ofstream(path) << CsvFile::Header()
                      << "100,,,50,a\n200,,,100,b\n200,,,150,later\n300,,,100,c\n40";
  std::string said;
  const LogCallback log = [&](LogLevel level, std::string_view text) {
    EXPECT_EQ(level, LogLevel::kWarning);
    said = text;
  };
  auto file = CsvFile::GoOn(path, LoadedAt(200), log);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_NE(said.find("3 rows after step 200"), std::string::npos) << said;
  ASSERT_TRUE((*file)->Write(LoadedAt(250)).ok());
  const std::string rest(CountOf(CsvFile::Header(), ',') - 3, ',');
  EXPECT_EQ(Text(path), CsvFile::Header() + "100,,,50,a\n200,,,100,b\n250,,,100" + rest + '\n');
}

TEST(CsvFile, AFileOfAnotherVersionIsKeptAside) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  std::ofstream(path) << "other,columns\n1,2\n";
  auto file = CsvFile::GoOn(path, LoadedAt(200), {});
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(Text(path), CsvFile::Header());
  EXPECT_EQ(Text(path + ".1"), "other,columns\n1,2\n");
}

TEST(CsvFile, AFileOfAnEarlierVersionThatLacksTheLastColumnsGetsThem) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv", present = CsvFile::Header();
  std::ofstream(path) << present.substr(0, present.rfind(",time/learned_steps")) + "\n"
                      << "100,,,50,a\n200,,,100,b\n";
  auto file = CsvFile::GoOn(path, LoadedAt(200), [](LogLevel, std::string_view text) {
    FAIL() << "nothing was cut off: " << text;
  });
  ASSERT_TRUE(file.ok()) << file.status();
  const std::string added(CountOf(present.substr(present.rfind(",time/learned_steps")), ','), ',');
  EXPECT_EQ(Text(path), present + "100,,,50,a" + added + "\n200,,,100,b" + added + '\n');
}

TEST(CsvFile, RowsAreOnDiskAtOnceAndWhatDoesNotExistIsEmpty) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  auto file = CsvFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  Reading reading;
  reading.Set(kEnvironmentSteps, std::uint64_t{1} << 62);
  reading.Set(kElapsed, 0.1234567);
  reading.Set(kOverallRate, std::nan(""));
  reading.Set(kStepRate, 5.0);  // of the screen alone
  ASSERT_TRUE((*file)->Write(reading).ok());
  EXPECT_EQ(Text(path), CsvFile::Header() + "4611686018427387904,0.123457" +
                            std::string(CountOf(CsvFile::Header(), ',') - 1, ',') + '\n');
}

TEST(CsvFile, AMetricThatIsNotDeclaredForEveryModelBecomesTheLastColumn) {
  static constexpr Metric kTdError{"train/td_error"};
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  auto file = CsvFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Write(LoadedAt(100)).ok());
  Reading reading = LoadedAt(200);
  reading.Set(kTdError, 0.5);
  ASSERT_TRUE((*file)->Write(reading).ok());
  const std::string header = CsvFile::Header();
  const std::string wider = header.substr(0, header.size() - 1) + ",train/td_error\n";
  const std::string rest(CountOf(header, ',') - 3, ',');
  const std::string rows = "100,,,100" + rest + ",\n200,,,100" + rest + ",0.5\n";
  EXPECT_EQ(Text(path), wider + rows);
  file = CsvFile::GoOn(path, LoadedAt(200), {});
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE((*file)->Write(reading).ok());
  EXPECT_EQ(Text(path), wider + rows + "200,,,100" + rest + ",0.5\n");
}

TEST(CsvFile, AColumnThatCouldNotBeAddedIsAddedLater) {
  static constexpr Metric kTdError{"train/td_error"};
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv", aside = folder.path() + "/aside";
  auto file = CsvFile::Create(path);
  ASSERT_TRUE(file.ok()) << file.status();
  Reading reading = LoadedAt(200);
  reading.Set(kTdError, 0.5);
  std::filesystem::rename(path, aside);
  std::filesystem::create_directory(path);
  EXPECT_FALSE((*file)->Write(reading).ok());
  std::filesystem::remove(path);
  std::filesystem::rename(aside, path);
  ASSERT_TRUE((*file)->Write(reading).ok());
  const std::string text = Text(path), header = text.substr(0, text.find('\n'));
  EXPECT_TRUE(header.ends_with(",train/td_error")) << header;
  EXPECT_TRUE(text.ends_with(",0.5\n")) << text;
}

TEST(CsvFile, AFolderThatIsNotThereIsNamed) {
  const auto file = CsvFile::Create("/nowhere/at/all.csv");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kResource);
  EXPECT_NE(file.status().message().find("/nowhere/at/all.csv"), std::string::npos);
}

}  // namespace
}  // namespace murmurate
