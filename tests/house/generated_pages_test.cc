// The pages that scripts write are committed as the scripts write them: docs/performance.md and
// docs/results.md from docs/measurements, docs/guards.md from the marks in the sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

struct Ran {
  int code = -1;
  std::string output;  ///< stdout and stderr
};

Ran RunShell(const std::string& command) {
  Ran ran;
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ran;
  char line[4096];
  while (std::fgets(line, sizeof line, pipe) != nullptr) ran.output += line;
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) ran.code = WEXITSTATUS(status);
  return ran;
}

Ran RunScript(const std::string& name, const std::string& arguments) {
  return RunShell("python3 '" + SourceFile("scripts/" + name) + "' " + arguments);
}

std::string ReadAll(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(GeneratedPages, OfMeasurementsAreWhatTheScriptWrites) {
  const Ran ran = RunScript("write-measurements.py", "check");
  EXPECT_EQ(ran.code, 0) << ran.output;
}

TEST(GeneratedPages, OfGuardsAreWhatTheMarksInTheSourcesSayAndNameTestsThatExist) {
  const Ran ran = RunScript("write-guards.py", "check");
  EXPECT_EQ(ran.code, 0) << ran.output;
}

/// A small tree of its own for the scripts, removed at the end.
class ScratchTree : public ::testing::Test {
 protected:
  ScratchTree() { fs::create_directories(root_); }
  ~ScratchTree() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  std::string Read(const std::string& path) const { return ReadAll(root_ / path); }
  std::string root() const { return " --root '" + root_.string() + "'"; }

 private:
  const fs::path root_ =
      fs::temp_directory_path() / ("murmurate-pages-" + std::to_string(::getpid()));
};

class Guards : public ScratchTree {
 protected:
  Guards() {
    Write("docs/guards.md", "");
    Write("server/a.cc",
          "void F() {\n  // guard: Suite.Exists, Suite.IsHammered (tsan): a pin is\n"
          "  //   set first\n  pin.store(1);\n}\n");
    Write("tests/a_test.cc", "TEST(Suite, Exists) {}\nTEST_F(Suite, IsHammered) {}\n");
  }
};

TEST_F(Guards, AreListedWithTheirReasonPlaceAndTests) {
  EXPECT_EQ(RunScript("write-guards.py", "write" + root()).code, 0);
  EXPECT_THAT(
      Read("docs/guards.md"),
      HasSubstr("## server\n\n| guard | where | fails without it |\n| --- | --- | --- |\n"
                "| a pin is set first | `a.cc` | Suite.Exists, Suite.IsHammered (tsan) |\n"));
  EXPECT_EQ(RunScript("write-guards.py", "check" + root()).code, 0);
}

TEST_F(Guards, APageThatIsOlderThanItsMarksIsFound) {
  EXPECT_EQ(RunScript("write-guards.py", "write" + root()).code, 0);
  Write("client/b.h", "// guard: Suite.Exists: b is locked\n");
  const Ran ran = RunScript("write-guards.py", "check" + root());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("run scripts/write-guards.py"));
}

TEST_F(Guards, ATestThatDoesNotExistIsNamed) {
  Write("tests/a_test.cc", "TEST(Suite, Exists) {}\n");
  const Ran ran = RunScript("write-guards.py", "write" + root());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("no test in tests/ is called Suite.IsHammered"));
}

TEST_F(Guards, AMarkWithoutAReasonIsRefused) {
  Write("server/a.cc", "// guard: Suite.Exists\n");
  const Ran ran = RunScript("write-guards.py", "write" + root());
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.output, HasSubstr("no reason in: // guard: Suite.Exists"));
}

constexpr char kFields[] = "subject,what,figure,limit,target,command,processor,date,note\n";

class Measurements : public ScratchTree {
 protected:
  Measurements() {
    const std::string folder = "docs/measurements/";
    Write(folder + "performance.csv",
          std::string(kFields) + "Act,p50,0.5 us,,,bench_act,Old,2020-01-02,\n");
    Write(folder + "results.csv", kFields);
    Write(folder + "subjects.csv",
          "page,subject,before,after\nperformance,Act,Said before.,Said after.\n");
    Write(folder + "processors.csv", "processor,cpuinfo,description\nOld,,An old one\n");
    Write("docs/performance.md", "");
    Write("docs/results.md", "");
  }
};

TEST_F(Measurements, BecomeATableForEachSubjectWithCommandFigureAndDate) {
  EXPECT_EQ(RunScript("write-measurements.py", "write" + root()).code, 0);
  EXPECT_THAT(Read("docs/performance.md"),
              HasSubstr("| Old | An old one |\n\n## Act\n\nSaid before.\n\n`bench_act`\n\n"
                        "| what | figure | measured |\n| --- | --- | --- |\n"
                        "| p50 | 0.5 us | 2020-01-02, Old |\n\nSaid after.\n"));
  EXPECT_EQ(RunScript("write-measurements.py", "check" + root()).code, 0);
  Write("docs/results.md", "edited by hand");
  EXPECT_EQ(RunScript("write-measurements.py", "check" + root()).code, 1);
}

TEST_F(Measurements, ThatABenchPrintsReplaceTheirRowsAndTheOthersAreAdded) {
  const Ran ran = RunShell(
      "printf 'p50: 0.25 us, limit 0.5 us, ratio 0.50, target 0.4 us: met\\n"
      "p99: 9 us, two threads, target 3: MISSED\\nno figure\\n' | python3 '" +
      SourceFile("scripts/write-measurements.py") + "' record Act --processor Old" + root());
  EXPECT_EQ(ran.code, 0) << ran.output;
  EXPECT_THAT(ran.output, HasSubstr("passed over: no figure"));
  const std::string rows = Read("docs/measurements/performance.csv");
  EXPECT_THAT(rows, HasSubstr("\nAct,p50,0.25 us,0.5 us (ratio 0.50),0.4 us: met,bench_act,Old,"));
  EXPECT_THAT(rows, HasSubstr("\nAct,p99,\"9 us, two threads\",,3: missed,bench_act,Old,"));
  EXPECT_THAT(rows, Not(HasSubstr("2020")));
  EXPECT_THAT(Read("docs/performance.md"), HasSubstr("| p99 | 9 us, two threads | | 3: missed |"));
}

TEST_F(Measurements, OfASubjectThatNoPageHasAreRefused) {
  const Ran ran = RunScript("write-measurements.py", "record Lact" + root() + " </dev/null");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.output, HasSubstr("Lact: no subject"));
}

}  // namespace
}  // namespace murmurate
