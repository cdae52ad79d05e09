#include "server/metrics/event_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "server/metrics/crc32c.h"
#include "server/metrics/event_message.h"
#include "shared/model/safetensors.h"
#include "tests/metrics/event_reader.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::string EventOf(std::uint64_t step) {
  EventMessage event(1.5, step);
  event.AddScalar("x", static_cast<double>(step));
  return event.Finish();
}

EventFile FileOf(const std::string& folder, const std::vector<std::uint64_t>& steps) {
  EventFile file = std::move(*EventFile::Create(folder));
  for (const std::uint64_t step : steps) EXPECT_TRUE(file.Append(EventOf(step)).ok());
  return file;
}

std::vector<std::uint64_t> StepsIn(const std::string& path) {
  std::vector<std::uint64_t> steps;
  for (const std::string& event : ReadEvents(path)) steps.push_back(StepIn(event));
  return steps;
}

TEST(Crc32c, IsThatOfTheStandard) {
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) {
    rising += static_cast<char>(i);
    falling += static_cast<char>(31 - i);
  }
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(Crc32c(rising), 0x46DD794Eu);
  EXPECT_EQ(Crc32c(falling), 0x113FDB5Cu);
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(MaskedCrc32c(""), 0xA282EAD8u);
  // The head of a TFRecord of 24 bytes, which is what most event files begin with.
  EXPECT_EQ(MaskedCrc32c(std::string_view("\x18\0\0\0\0\0\0\0", 8)), 0x224B7FA3u);
}

TEST(EventFile, HoldsWhatWasAppendedAndIsNamedAsTensorBoardExpects) {
  TemporaryFolder folder;
  const EventFile file = FileOf(folder.path(), {1, 300, UINT64_MAX / 2});
  EXPECT_EQ(StepsIn(file.path()), (std::vector<std::uint64_t>{1, 300, UINT64_MAX / 2}));
  EXPECT_TRUE(fs::path(file.path()).filename().string().starts_with("events.out.tfevents.1"));
}

TEST(EventFile, AnotherOfTheSameSecondHasANameOfItsOwn) {
  TemporaryFolder folder;
  const EventFile first = FileOf(folder.path(), {1}), second = FileOf(folder.path(), {2});
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(StepsIn(first.path()), std::vector<std::uint64_t>{1});
}

TEST(EventFile, InAFolderThatIsMissingSaysWhatToDo) {
  const auto file = EventFile::Create("/nowhere/at/all");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("metrics.tensorboard=false"), std::string::npos);
}

TEST(EventFile, EndsWithItsLastWholeEventWhenTheDiskIsFull) {
  TemporaryFolder folder;
  EventFile file = FileOf(folder.path(), {1, 2});
  const auto before = fs::file_size(file.path());
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit unlimited = limit;
  limit.rlim_cur = before + 10;  // room for a part of an event
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status failed = file.Append(EventOf(3));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(fs::file_size(file.path()), before);
  EXPECT_TRUE(file.Append(EventOf(4)).ok());
  EXPECT_EQ(StepsIn(file.path()), (std::vector<std::uint64_t>{1, 2, 4}));
}

TEST(CutEvents, KeepsTheEventsUpToAStepOfEveryFile) {
  TemporaryFolder folder;
  const std::string first = FileOf(folder.path(), {0, 100, 200}).path();
  const std::string second = FileOf(folder.path(), {0, 200, 201, 300}).path();
  const std::string third = FileOf(folder.path(), {500}).path();
  const auto cut = CutEventsAfter(folder.path(), 200);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_GT(*cut, 0u);
  EXPECT_EQ(StepsIn(first), (std::vector<std::uint64_t>{0, 100, 200}));
  EXPECT_EQ(StepsIn(second), (std::vector<std::uint64_t>{0, 200}));
  EXPECT_FALSE(fs::exists(third));
  EXPECT_EQ(*CutEventsAfter(folder.path(), 200), 0u);
}

TEST(CutEvents, CutsOffADamagedEventAndWhatFollows) {
  TemporaryFolder folder;
  const std::string path = FileOf(folder.path(), {1, 2, 3}).path();
  std::string text = *ReadFile(path, 1 << 20);
  const auto frame = text.size() / 3;
  text[frame + 20] = static_cast<char>(text[frame + 20] ^ 1);
  ASSERT_TRUE(WriteFileAtomically(path, std::as_bytes(std::span(text))).ok());
  EXPECT_EQ(*CutEventsAfter(folder.path(), 9), 2 * frame);
  EXPECT_EQ(StepsIn(path), std::vector<std::uint64_t>{1});
}

TEST(CutEvents, CutsOffHalfAnEvent) {
  TemporaryFolder folder;
  const std::string path = FileOf(folder.path(), {1, 2}).path();
  fs::resize_file(path, fs::file_size(path) - 3);
  EXPECT_TRUE(CutEventsAfter(folder.path(), 9).ok());
  EXPECT_EQ(StepsIn(path), std::vector<std::uint64_t>{1});
}

TEST(CutEvents, WithoutAStepRemovesThemAndNothingElse) {
  TemporaryFolder folder;
  const std::string path = FileOf(folder.path(), {1, 2}).path();
  const std::string other = folder.path() + "/progress.csv";
  ASSERT_TRUE(WriteFileAtomically(other, std::as_bytes(std::span("x"))).ok());
  EXPECT_TRUE(CutEventsAfter(folder.path(), std::nullopt).ok());
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace murmurate
