// AlgorithmBook: what is kept where, by several at once, and what becomes of damaged files.
#include "server/device/algorithm_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AlgorithmBookTest : public testing::Test {
 protected:
  std::string run_file(int run = 1) const {
    return folder_.path() + "/run" + std::to_string(run) + "_device_plans.json";
  }
  std::string user_file() const { return folder_.path() + "/cache/murmurate/plans.json"; }
  void Open(AlgorithmBook* book, int run = 1) {
    book->Open(run_file(run), user_file(),
               [this](LogLevel, std::string_view line) { log_.emplace_back(line); });
  }
  static std::string TextOf(const std::string& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TemporaryFolder folder_;
  std::vector<std::string> log_;
};

TEST_F(AlgorithmBookTest, KeepsAChoiceForTheRunAndForTheUser) {
  AlgorithmBook book;
  Open(&book);
  EXPECT_EQ(book.Find("product"), "");
  book.Keep("product", "2:77");
  EXPECT_EQ(book.Find("product"), "2:77");
  EXPECT_EQ(TextOf(run_file()), "{\n \"product\": \"2:77\"\n}\n");
  EXPECT_EQ(TextOf(user_file()), TextOf(run_file()));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(AlgorithmBookTest, AsksTheRunFirstAndCopiesWhatTheUserHas) {
  AlgorithmBook first, second, resumed;
  Open(&first, 1);
  first.Keep("a", "0:1");
  Open(&second, 2);
  second.Keep("a", "3:1");
  second.Keep("b", "1:1");
  Open(&resumed, 1);
  EXPECT_EQ(resumed.Find("a"), "0:1") << "as the run began";
  EXPECT_EQ(resumed.Find("b"), "1:1") << "as others have measured it";
  EXPECT_THAT(TextOf(run_file(1)), HasSubstr("\"b\": \"1:1\""));
}

TEST_F(AlgorithmBookTest, IgnoresDamagedFilesAndReplacesThem) {
  std::filesystem::create_directories(folder_.path() + "/cache/murmurate");
  for (const char* damaged : {"{\"a\": \"0:1\"", "[]", "{\"a\": 5}", ""}) {
    log_.clear();
    std::ofstream(run_file()) << damaged;
    std::ofstream(user_file()) << damaged;
    AlgorithmBook book;
    Open(&book);
    EXPECT_THAT(log_, ElementsAre(HasSubstr(run_file() + " is ignored: "),
                                  HasSubstr(user_file() + " is ignored: ")))
        << damaged;
    EXPECT_EQ(book.Find("a"), "");
    book.Keep("a", "1:2");
    AlgorithmBook later;
    log_.clear();
    Open(&later);
    EXPECT_EQ(later.Find("a"), "1:2");
    EXPECT_THAT(log_, IsEmpty());
  }
}

TEST_F(AlgorithmBookTest, LosesNothingThatSeveralProcessesKeepAtOnce) {
  constexpr int kProcesses = 4, kChoices = 8;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      AlgorithmBook book;
      Open(&book, process);
      for (int i = 0; i < kChoices; ++i)
        book.Keep(std::to_string(process) + " " + std::to_string(i), "0:0");
      _exit(log_.empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  AlgorithmBook book;
  Open(&book);
  for (int process = 0; process < kProcesses; ++process)
    for (int i = 0; i < kChoices; ++i)
      EXPECT_EQ(book.Find(std::to_string(process) + " " + std::to_string(i)), "0:0");
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(AlgorithmBookTest, SaysOnceThatNothingCanBeKeptAndGoesOn) {
  std::ofstream(folder_.path() + "/cache") << "a file where a folder should be";
  AlgorithmBook book;
  Open(&book);
  book.Keep("a", "0:1");
  book.Keep("b", "0:2");
  EXPECT_THAT(log_,
              ElementsAre(HasSubstr("algorithms of the GPU's libraries are not kept: cannot")));
  EXPECT_EQ(book.Find("b"), "0:2");
}

TEST_F(AlgorithmBookTest, IsInTheCacheOfTheUser) {
  const char* const home = getenv("HOME");
  const std::string before = home == nullptr ? "" : home;
  setenv("HOME", "/home/someone", 1);
  setenv("XDG_CACHE_HOME", "/var/cache", 1);
  EXPECT_EQ(AlgorithmBook::UserFile(), "/var/cache/murmurate/plans.json");
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(AlgorithmBook::UserFile(), "/home/someone/.cache/murmurate/plans.json");
  unsetenv("HOME");
  EXPECT_EQ(AlgorithmBook::UserFile(), "");
  setenv("HOME", before.c_str(), 1);
}

}  // namespace
}  // namespace murmurate
