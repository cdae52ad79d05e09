// What the three stories of the README cost: commands to type, and lines of one's own code.
//
// A command is what a shell runs: what stands between &&, & and ; is one each. What stands for the
// user's own program is none: the game (./a.out), the environments (actor.py) and the devices
// (`murmurate actor sensors`, a made-up fleet of them). A line of code is one that is neither blank
// nor wholly a comment.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// What scripts/story.sh says of the README.
std::string Said(const std::string& arguments) {
  FILE* const pipe =
      popen(("bash " + SourceFile("scripts/story.sh") + ' ' + arguments).c_str(), "r");
  if (pipe == nullptr) return "";
  std::string said;
  std::array<char, 4096> piece;
  while (const std::size_t size = fread(piece.data(), 1, piece.size(), pipe))
    said.append(piece.data(), size);
  EXPECT_EQ(pclose(pipe), 0) << arguments;
  return said;
}

std::string ReadAll(const std::string& path) {
  std::ifstream stream(SourceFile(path));
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string Trimmed(const std::string& text) {
  return std::regex_replace(text, std::regex("^\\s+|\\s+$"), "");
}

std::vector<std::string> CommandsOf(const std::string& typed) {
  std::vector<std::string> commands;
  std::istringstream lines(typed);
  for (std::string line; std::getline(lines, line);) {
    line = std::regex_replace(line, std::regex(" #.*"), "");
    const std::regex between("&&|&|;");
    for (std::sregex_token_iterator part(line.begin(), line.end(), between, -1), end; part != end;
         ++part) {
      const std::string command =
          std::regex_replace(Trimmed(*part), std::regex("^(for .*|done|do +)"), "");
      if (!command.empty()) commands.push_back(command);
    }
  }
  return commands;
}

bool IsOnesOwn(const std::string& command) {
  return command == "./a.out" || command == "python actor.py" ||
         command.starts_with("murmurate actor sensors ");
}

bool Builds(const std::string& command) {
  return command.starts_with("./run ") || command.starts_with("cmake ");
}

struct Count {
  int all = 0, steps = 0, steps_with_packages = 0;
};

Count CountOf(const std::string& typed) {
  Count count;
  for (const std::string& command : CommandsOf(typed)) {
    ++count.all;
    count.steps += !IsOnesOwn(command);
    count.steps_with_packages += !IsOnesOwn(command) && !Builds(command);
  }
  return count;
}

int CodeLines(const std::string& text, const std::string& comment) {
  int lines = 0;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    line = Trimmed(line);
    lines += !line.empty() && !line.starts_with(comment);
  }
  return lines;
}

/// Without the comment that a file begins with and the README leaves out.
std::string WithoutHeading(const std::string& text, const std::string& comment) {
  std::size_t at = 0;
  while (text.compare(at, comment.size(), comment) == 0) at = text.find('\n', at) + 1;
  return text.substr(at);
}

TEST(Stories, AGameDeveloperTypesFiveCommandsAndThreeOnceThereArePackages) {
  const Count count = CountOf(Said("lines game"));
  EXPECT_LE(count.steps, 5);
  EXPECT_LE(count.steps_with_packages, 3);
  EXPECT_EQ(count.all, 6) << "with ./a.out";
}

TEST(Stories, AResearcherTypesFourCommands) {
  const Count count = CountOf(Said("lines researcher"));
  EXPECT_LE(count.steps, 4);
  EXPECT_EQ(count.all, 5) << "with actor.py";
}

TEST(Stories, AStreamEngineerTypesThreeCommands) {
  const Count count = CountOf(Said("lines stream"));
  EXPECT_LE(count.steps, 3);
  EXPECT_EQ(count.all, 4) << "with the devices";
}

struct Shown {
  const char *story, *name, *folder, *comment;
  int lines;  ///< at most
  friend void PrintTo(const Shown& shown, std::ostream* out) { *out << shown.name; }
};

class StoryFiles : public ::testing::TestWithParam<Shown> {};

TEST_P(StoryFiles, HaveNoMoreLinesThanTheStoryAllowsAndAreTheExamples) {
  const Shown& shown = GetParam();
  const std::string in_readme = Said("file " + std::string(shown.story) + ' ' + shown.name);
  const std::string example = ReadAll(std::string("examples/") + shown.folder + '/' + shown.name);
  EXPECT_GT(CodeLines(in_readme, shown.comment), 3) << "the README does not show it";
  EXPECT_LE(CodeLines(example, shown.comment), shown.lines);
  EXPECT_EQ(WithoutHeading(example, shown.comment), in_readme);
}

INSTANTIATE_TEST_SUITE_P(Readme, StoryFiles,
                         ::testing::Values(Shown{"game", "game.cpp", "game", "//", 16},
                                           Shown{"game", "game.c", "game", "/*", 14},
                                           Shown{"researcher", "actor.py", "gymnasium", "#", 4},
                                           Shown{"researcher", "loop.py", "gymnasium", "#", 12},
                                           Shown{"researcher", "cartpole.toml", "gymnasium", "#",
                                                 11},
                                           Shown{"stream", "sensors.toml", "sensors", "#", 12}),
                         [](const auto& shown) {
                           return std::regex_replace(std::string(shown.param.name),
                                                     std::regex("[.]"), "_");
                         });

TEST(Stories, OtherPagesTellThemInTheSameWords) {
  const std::string python = ReadAll("python/README.md");
  EXPECT_THAT(python, HasSubstr("```sh\n" + Said("lines researcher") + "```"));
  for (const char* name : {"actor.py", "cartpole.toml"})
    EXPECT_THAT(python, HasSubstr('\n' + Said(std::string("file researcher ") + name) + "```"));
  const std::string streams = ReadAll("docs/streams.md");
  EXPECT_THAT(streams, HasSubstr("```sh\n" + Said("lines stream") + "```"));
  EXPECT_THAT(streams, HasSubstr("```toml\n" + Said("file stream sensors.toml") + "```"));
  const std::string packages = ReadAll("docs/packages.md");
  std::istringstream lines(Said("lines game"));
  for (std::string line; std::getline(lines, line);)
    EXPECT_THAT(packages, HasSubstr(Trimmed(std::regex_replace(line, std::regex(" #.*"), ""))));
}

TEST(Stories, ACommandIsWhatAShellRuns) {
  EXPECT_THAT(CommandsOf("a b && . c # d & e\nfor i in 1 2; do f & done\ng & h\n"),
              ::testing::ElementsAre("a b", ". c", "f", "g", "h"));
}

}  // namespace
}  // namespace murmurate
