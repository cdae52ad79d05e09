// Every command of the documents is typed by a session (tests/pages/sessions), or is listed with the
// reason why a test cannot type it (not_typed.cc); and the program takes the arguments of each.
#include "tests/pages/page_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/pages/command_check.h"
#include "tests/pages/not_typed.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// The lines of the sessions that begin with "$ ", or with a "$ " behind an exit code or &.
std::set<std::string> TypedCommands() {
  static const std::regex kTyped("^([0-9]+|&)?[$] (.*)$");
  std::set<std::string> typed;
  for (const auto& entry : fs::directory_iterator(SourceFile("tests/pages/sessions"))) {
    std::ifstream text(entry.path());
    std::smatch match;
    for (std::string line; std::getline(text, line);)
      if (std::regex_match(line, match, kTyped)) typed.insert(Normalized(match[2]));
  }
  return typed;
}

std::set<std::string> ListedCommands() {
  std::set<std::string> listed;
  for (const NotTyped& command : NotTypedCommands()) listed.insert(command.text);
  return listed;
}

std::string Place(const PageCommand& command) {
  return command.page + ':' + std::to_string(command.line) + ": " + command.text;
}

TEST(PageCommands, AreTypedByASessionOrListedWithTheReason) {
  const auto typed = TypedCommands(), listed = ListedCommands();
  const auto commands = OfAllPages(BlockCommandsIn);
  for (const PageCommand& command : commands)
    EXPECT_TRUE(typed.contains(command.text) || listed.contains(command.text))
        << Place(command) << "\nType it in tests/pages/sessions, or list it in not_typed.cc.";
  EXPECT_GT(commands.size(), 80u) << "the documents were not read";
}

TEST(PageCommands, WhatIsTypedOrListedIsStillInAPage) {
  std::set<std::string> shown;
  for (const PageCommand& command : OfAllPages(BlockCommandsIn)) shown.insert(command.text);
  for (const std::string& command : TypedCommands())
    EXPECT_TRUE(shown.contains(command)) << "no page shows what a session types: " << command;
  for (const std::string& command : ListedCommands()) {
    EXPECT_TRUE(shown.contains(command)) << "no page shows what is listed: " << command;
    EXPECT_FALSE(TypedCommands().contains(command)) << "typed, and listed: " << command;
  }
}

TEST(PageCommands, EachReasonIsASentenceThatNamesFilesThatExist) {
  static const std::regex kPath("(tests|scripts|python|packaging)/[a-z0-9_./-]*[a-z0-9]");
  for (const NotTyped& command : NotTypedCommands()) {
    const std::string reason = command.reason;
    EXPECT_GT(reason.size(), 10u) << command.text;
    for (std::sregex_iterator path(reason.begin(), reason.end(), kPath), end; path != end; ++path)
      EXPECT_TRUE(fs::exists(SourceFile(path->str()))) << command.text << ": " << path->str();
  }
}

/// The arguments of `murmurate` in a command of a shell; empty: it does not run it.
Words ArgumentsIn(const Words& command) {
  const auto program = std::ranges::find(command, "murmurate");
  return program == command.end() ? Words() : Words(program + 1, command.end());
}

class FromTheTree : public ::testing::Test {
 protected:
  FromTheTree() { fs::current_path(SourceFile("")); }
};
using PageCommandLines = FromTheTree;

TEST_F(PageCommandLines, AreTakenByTheProgram) {
  int count = 0;
  for (const PageCommand& command : OfAllPages(BlockCommandsIn)) {
    for (const Words& words : ShellCommands(command.text)) {
      const Words arguments = ArgumentsIn(words);
      if (arguments.empty()) continue;
      ++count;
      EXPECT_EQ(FaultOfArguments(arguments), "") << Place(command);
    }
  }
  EXPECT_GT(count, 50) << "the documents were not read";
}

/// A span that is words about commands, or a row of figures: not what is typed.
bool IsNoCommand(const PageCommand& command) {
  return command.text.find_first_of("|*\\,") != command.text.npos;
}

/// A number that the reader chooses.
Words WithNumbers(Words words) {
  for (std::string& word : words)
    if (word == "N" || word == "I" || word == "A" || word == "PID") word = "1";
  return words;
}

/// A span may leave out what the program requires besides, as in `murmurate params --stay`;
/// `murmurate set` names a command.
std::string FaultOfSpan(const Words& arguments) {
  const std::string fault = FaultOfArguments(arguments);
  if (!fault.ends_with(" required")) return fault;
  if (arguments.size() == 1) return fault == "A subcommand is required" ? fault : "";
  for (const Words& more : {Words{"CONFIG"}, Words{"CONFIG", "--shard", "0"}, Words{"train"}}) {
    Words whole = arguments;
    whole.insert(whole.end(), more.begin(), more.end());
    if (FaultOfArguments(whole).empty()) return "";
  }
  return fault;
}

TEST_F(PageCommandLines, InWordsAreTakenByTheProgram) {
  int count = 0;
  for (const PageCommand& command : OfAllPages(SpanCommandsIn)) {
    // What was measured, long ago too, is no advice.
    if (command.page == "docs/results.md" || command.page == "docs/performance.md") continue;
    if (IsNoCommand(command)) continue;
    const Words arguments = WithNumbers(ArgumentsIn(ShellCommands(command.text).front()));
    if (arguments.empty()) continue;
    ++count;
    EXPECT_EQ(FaultOfSpan(arguments), "") << Place(command);
  }
  EXPECT_GT(count, 150) << "the documents were not read";
}

TEST_F(PageCommandLines, NameFilesOfTheTreeThatExist) {
  static const std::regex kPath(
      "([.]/)?((examples|scripts|packaging|docs|python|tests)/[A-Za-z0-9_./-]+|run|test|python)");
  std::vector<PageCommand> commands = OfAllPages(BlockCommandsIn);
  std::ranges::copy(OfAllPages(SpanCommandsIn), std::back_inserter(commands));
  int count = 0;
  for (const PageCommand& command : commands) {
    for (const Words& words : ShellCommands(command.text)) {
      for (const std::string& word : words) {
        if (!word.starts_with("./") && word.find('/') == word.npos) continue;
        if (!std::regex_match(word, kPath)) continue;
        ++count;
        EXPECT_TRUE(fs::exists(word)) << Place(command) << " names " << word;
      }
    }
  }
  EXPECT_GT(count, 10) << "the documents were not read";
}

TEST_F(PageCommandLines, UsePresetsTargetsAndModulesThatExist) {
  std::ifstream file("CMakePresets.json");
  std::stringstream presets;
  presets << file.rdbuf();
  int count = 0;
  for (const PageCommand& command : OfAllPages(BlockCommandsIn)) {
    for (const Words& words : ShellCommands(command.text)) {
      for (std::size_t i = 1; i < words.size(); ++i) {
        const bool preset = words[i - 1] == "--preset", module = words[i - 1] == "-m";
        if (!preset && !(module && words[i].starts_with("murmurate."))) continue;
        ++count;
        if (preset) {
          EXPECT_THAT(presets.str(), HasSubstr("{\"name\": \"" + words[i] + '"')) << Place(command);
        } else {
          const std::string source = "python/src/murmurate/" + words[i].substr(10) + ".py";
          EXPECT_TRUE(fs::exists(source)) << Place(command);
        }
      }
    }
  }
  EXPECT_GT(count, 8) << "the documents were not read";
}

TEST(PageCommands, StandInBlocksThatSayThatTheyAreCommands) {
  for (const PageCommand& command : OfAllPages(HiddenCommandsIn))
    ADD_FAILURE() << Place(command) << "\nBegin its block with ```sh, so that it is typed.";
}

std::vector<std::string> TextsIn(ReadCommands* read, const std::string& page) {
  std::istringstream text(page);
  std::vector<std::string> texts;
  for (const PageCommand& command : read("page.md", text)) texts.push_back(command.text);
  return texts;
}

TEST(PageCommands, AreTheLinesOfBlocksOfShWithoutComments) {
  EXPECT_THAT(TextsIn(BlockCommandsIn,
                      "a\n```sh\n./run   # x\n\n# y\nfor i in 1; do\n  a b\n  c $i\ndone\n"
                      "d '#  e' &  f\ng \\\n  h\n```\n```\n./g\n```\n```toml\nh\n```\n"),
              ElementsAre("./run", "for i in 1; do a b; c $i; done", "d '#  e' & f", "g h"));
}

TEST(PageCommands, AreHiddenInBlocksThatNameNoLanguage) {
  EXPECT_THAT(
      TextsIn(HiddenCommandsIn,
              "```\nmurmurate train x\nmurmurate serves x\nmurmurate unpause x\n./run\n```\n"
              "```sh\n./run\n```\nmurmurate train y\n"),
      ElementsAre("murmurate train x", "murmurate unpause x", "./run"));
}

TEST(PageCommands, InWordsAreSpansThatAreCommandLines) {
  EXPECT_THAT(TextsIn(SpanCommandsIn,
                      "`murmurate serve` or `x`, `murmurate set A b=1`\n`scripts/x` `scripts/x y`\n"
                      "`MURMURATE_RUN__SEED=5 murmurate check`\n"
                      "```sh\n`murmurate stop`\n```\n"),
              ElementsAre("murmurate serve", "murmurate set A b=1", "scripts/x y",
                          "MURMURATE_RUN__SEED=5 murmurate check"));
}

TEST(ShellCommands, AreTheWordsOfEachCommand) {
  EXPECT_THAT(ShellCommands("A=1 B='x y' c \"d $e\" && f | g; h & i=j.k --l=m"),
              ElementsAre(Words{"c", "d 1"}, Words{"f"}, Words{"g"}, Words{"h"}, Words{"--l=m"}));
}

TEST(ShellCommands, AreAlsoThoseInsideOthers) {
  EXPECT_THAT(ShellCommands("a $(b c) <(d) && mpirun -n 2 sh -c 'exec e f$g'"),
              ElementsAre(Words{"b", "c"}, Words{"d"}, Words{"a", "1", "1"},
                          Words{"mpirun", "-n", "2", "sh", "-c", "exec e f1"}, Words{"e", "f1"}));
  EXPECT_THAT(ShellCommands("for i in 1 2; do a $i & done; wait"),
              ElementsAre(Words{"a", "1"}, Words{"wait"}));
}

TEST_F(PageCommandLines, AWrongOneIsFound) {
  EXPECT_EQ(FaultOfArguments({"train", "cartpole", "--set", "run.steps=5"}), "");
  EXPECT_NE(FaultOfArguments({"train", "cartpole", "--set", "run.stepz=5"}), "");
  EXPECT_NE(FaultOfArguments({"train", "cartpole", "--set", "run.steps=x"}), "");
  EXPECT_NE(FaultOfArguments({"train", "no-such-example"}), "");
  EXPECT_NE(FaultOfArguments({"check", "examples/configs/none.toml"}), "");
  EXPECT_NE(FaultOfArguments({"train", "cartpole", "--no-such-option"}), "");
  EXPECT_NE(FaultOfArguments({"no-such-command"}), "");
  EXPECT_NE(FaultOfArguments({"set", "RUN", "algorithm.entropi=1"}), "");
  EXPECT_EQ(FaultOfSpan({"params", "--stay"}), "");
  EXPECT_NE(FaultOfSpan({"params", "--stays"}), "");
  EXPECT_NE(FaultOfSpan({"no-such-command"}), "");
  EXPECT_NE(FaultOfArguments({"export", "cartpole", "--format", "none"}), "");
}

}  // namespace
}  // namespace murmurate
