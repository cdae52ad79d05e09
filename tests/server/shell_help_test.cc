// Completion in real shells, and manual pages in real formatters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>

#include "tests/server/process.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

Ran Shell(const Workplace& place, const std::string& command) {
  Process shell(place.path(), {"-c", "cd '" + place.path() + "' && " + command},
                {"sh", "-c", "shift; exec sh \"$@\"", "sh"});
  Ran ran;
  ran.code = shell.Wait(20);
  ran.output = shell.Output();
  ran.errors = shell.Errors();
  return ran;
}

bool Installed(const Workplace& place, const std::string& program) {
  return Shell(place, "command -v " + program).code == 0;
}

class Completion : public ::testing::Test {
 protected:
  Completion() {
    for (const char* shell : {"bash", "zsh"})
      place_.Write(shell, RunMurmurate(place_.path(), {"completion", shell}).output);
    fs::create_directories(place_.path() + "/runs/pole-7");
    place_.Write("runs/pole-7/config.toml", "");
    place_.Write("mine.toml", "");
  }

  /// What bash offers for the last word of `line`.
  std::string Bash(const std::string& line) const {
    place_.Write("ask", "source ./bash\ncomplete -p murmurate\nCOMP_WORDS=(" + line +
                            ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_murmurate\n"
                            "echo \"<${COMPREPLY[*]}>\"\n");
    const Ran ran = Shell(place_, "bash --norc ask");
    EXPECT_EQ(ran.code, 0) << ran.errors;
    EXPECT_EQ(ran.errors, "") << line;
    EXPECT_THAT(ran.output, HasSubstr("complete -F _murmurate murmurate\n"));
    return ran.output.substr(std::min(ran.output.find('<'), ran.output.size()));
  }

  const Workplace place_;
};

TEST_F(Completion, OfBashKnowsCommandsOptionsExamplesRunsAndKeys) {
  EXPECT_EQ(Bash("murmurate tra"), "<train>\n");
  EXPECT_EQ(Bash("murmurate cluster st"), "<start status stop>\n");
  EXPECT_THAT(Bash("murmurate serve --re"), HasSubstr("--resume"));
  EXPECT_THAT(Bash("murmurate serve --qu"), HasSubstr("--quiet"));
  EXPECT_EQ(Bash("murmurate train cartpole-d"), "<cartpole-dqn>\n");
  EXPECT_THAT(Bash("murmurate train mi"), HasSubstr("mine.toml"));
  EXPECT_EQ(Bash("murmurate status po"), "<pole-7>\n");
  EXPECT_EQ(Bash("murmurate train cartpole --set run.max_d"), "<run.max_disk=>\n");
  EXPECT_EQ(Bash("murmurate actor cartpole --pace c"), "<credit>\n");
  EXPECT_EQ(Bash("murmurate actor gridw"), "<gridworld>\n");
  EXPECT_EQ(Bash("murmurate completion z"), "<zsh>\n");
}

TEST_F(Completion, OfZshCompletesWhatIsTyped) {
  if (!Installed(place_, "zsh")) GTEST_SKIP() << "zsh is not installed";
  // compadd is zsh's own way to offer words; here it prints them.
  place_.Write(
      "ask",
      "compdef() { : }\nsource ./zsh\ncompadd() { shift; print -rl -- \"$@\" }\n_files() { "
      "print files $@ }\nask() { words=(\"$@\"); CURRENT=$#words; _murmurate }\n"
      "ask murmurate ''; ask murmurate train ''; ask murmurate status ''; "
      "ask murmurate cluster start --\n");
  const Ran ran = Shell(place_, "zsh -f ask");
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
  for (const char* word :
       {"serve\n", "cartpole-dqn\n", "files -g *.toml\n", "pole-7\n", "--shards\n", "--quiet\n"})
    EXPECT_THAT(ran.output, HasSubstr(word));
}

TEST_F(Completion, OfAnotherShellIsRefusedInOneLine) {
  const Ran ran = RunMurmurate(place_.path(), {"completion", "fish"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("bash,zsh"));
}

class Manual : public ::testing::Test {
 protected:
  Manual() { made_ = RunMurmurate(place_.path(), {"man", "man1"}); }

  const Workplace place_;
  Ran made_;
};

TEST_F(Manual, HasAPageForEachCommandWithItsOptions) {
  EXPECT_EQ(made_.code, 0) << made_.errors;
  for (const char* page : {"murmurate", "murmurate-serve", "murmurate-cluster-start"})
    EXPECT_TRUE(place_.Has("man1/" + std::string(page) + ".1")) << page;
  EXPECT_THAT(place_.Read("man1/murmurate-serve.1"), HasSubstr("\\fB\\-\\-resume\\fR"));
  EXPECT_THAT(place_.Read("man1/murmurate.1"), HasSubstr("murmurate\\-serve(1)"));
}

TEST_F(Manual, IsWithoutFaultForMandoc) {
  if (!Installed(place_, "mandoc")) GTEST_SKIP() << "mandoc is not installed";
  const Ran ran = Shell(place_, "mandoc -T lint -W warning man1/*.1");
  EXPECT_EQ(ran.code, 0) << ran.output << ran.errors;
  EXPECT_EQ(ran.output, "");
}

TEST_F(Manual, IsWithoutWarningForMan) {
  if (!Installed(place_, "man") || !Installed(place_, "groff"))
    GTEST_SKIP() << "man and groff are not installed";
  const Ran ran = Shell(place_,
                        "for page in man1/*.1; do MANROFFSEQ= man -l --warnings -Tutf8 $page "
                        ">>text || exit 1; done; cat text");
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_EQ(ran.errors, "");
  EXPECT_THAT(ran.output, HasSubstr("murmurate-train - A learner and local actors"));
}

}  // namespace
}  // namespace murmurate
