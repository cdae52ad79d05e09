// `murmurate play` as a user meets it: on a terminal, and as files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tests/server/process.h"
#include "tests/server/terminal.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kEnter[] = "\x1b[?1049h", kLeave[] = "\x1b[?1049l", kShowCursor[] = "\x1b[?25h";

/// A run of cartpole that has hardly begun to learn.
class Play : public testing::Test {
 protected:
  void SetUp() override {
    const Ran ran = Murmurate({"train", "cartpole", "--quiet", "--steps", "4096", "--seed", "1"});
    ASSERT_THAT(ran.code, testing::AnyOf(0, 1)) << ran.errors;
  }
  Ran Murmurate(const std::vector<std::string>& arguments) const {
    return RunMurmurate(place.path(), arguments);
  }
  std::string InFolder(const std::string& name) const { return place.path() + '/' + name; }

  Workplace place;
};

/// The number behind a word.
std::string NumberBehind(const std::string& text, const std::string& word) {
  const std::size_t at = text.find(word);
  if (at == std::string::npos) return "";
  return text.substr(at + word.size(),
                     text.find_first_of(" \n,", at + word.size()) - at - word.size());
}

TEST_F(Play, WritesTheEpisodeThatEvalPlaysAsAGifAndAsFrames) {
  const Ran ran = Murmurate({"play", "cartpole", "--gif", "a.gif", "--frames", "frames"});
  ASSERT_EQ(ran.code, 0) << ran.errors;
  const Ran eval = Murmurate({"eval", "cartpole", "--episodes", "1"});
  const std::string mean = NumberBehind(ran.output, "mean return ");
  EXPECT_NE(mean, "");
  EXPECT_EQ(mean, NumberBehind(eval.output, "mean ")) << eval.output;
  EXPECT_THAT(ran.output, HasSubstr("ffmpeg -framerate 50 -i frames/frame-%06d.png"));
  EXPECT_TRUE(place.Read("a.gif").starts_with("GIF89a"));
  const auto frames = std::distance(fs::directory_iterator(InFolder("frames")), {});
  EXPECT_EQ(frames, std::stoi(mean) + 1)
      << "cartpole's return is its steps, before the first there "
         "is a picture, too";
}

TEST_F(Play, TheSameSeedIsTheSameFileAndAnotherOneIsNot) {
  for (const auto& [file, seed] : {std::pair{"a.gif", "5"}, {"b.gif", "5"}, {"c.gif", "6"}}) {
    const Ran ran = Murmurate(
        {"play", "cartpole", "--gif", file, "--seed", seed, "--deterministic", "--quiet"});
    ASSERT_EQ(ran.code, 0) << ran.errors;
    EXPECT_EQ(ran.output, "");
  }
  EXPECT_EQ(place.Read("a.gif"), place.Read("b.gif"));
  EXPECT_NE(place.Read("a.gif"), place.Read("c.gif"));
}

TEST_F(Play, OnATerminalShowsPicturesAndGivesTheTerminalBackWhenQIsPressed) {
  Terminal terminal(place.path(), {"play", "cartpole", "--episodes", "0", "--speed", "0.5"});
  ASSERT_TRUE(terminal.Shows("step 3  reward 1.000  return 3.000")) << terminal.output();
  EXPECT_FALSE(terminal.settings().c_lflag & ECHO);
  EXPECT_THAT(terminal.output(), HasSubstr(kEnter));
  EXPECT_THAT(terminal.output(), HasSubstr("▀"));
  EXPECT_THAT(terminal.output(), HasSubstr("cartpole, greedy, weights of step "));
  EXPECT_THAT(terminal.output(), Not(HasSubstr(kLeave)));
  terminal.Resize(40, 12);
  ASSERT_TRUE(terminal.Shows("\x1b[12;1H\x1b[Kstep ")) << "the last line of the smaller terminal";
  terminal.Type("q");
  EXPECT_EQ(terminal.Wait(), 0);
  EXPECT_THAT(terminal.output(), HasSubstr(std::string(kShowCursor) + kLeave));
  EXPECT_TRUE(terminal.settings().c_lflag & ECHO);
  EXPECT_TRUE(terminal.settings().c_lflag & ICANON);
}

TEST_F(Play, ControlCGivesTheTerminalBackAndFinishesTheFile) {
  Terminal terminal(place.path(),
                    {"play", "cartpole", "--episodes", "0", "--speed", "0.5", "--gif", "a.gif"});
  ASSERT_TRUE(terminal.Shows("step 3 ")) << terminal.output();
  terminal.Type("\x03");
  EXPECT_EQ(terminal.Wait(), 0);
  EXPECT_THAT(terminal.output(), HasSubstr(std::string(kShowCursor) + kLeave));
  EXPECT_TRUE(terminal.settings().c_lflag & ECHO);
  EXPECT_TRUE(place.Read("a.gif").ends_with('\x3b'));
}

TEST_F(Play, ATitleThatIsTooLongIsCutBetweenItsLetters) {
  std::string name;
  for (int i = 0; i < 80; ++i) name += "é";
  fs::create_directory_symlink(InFolder("runs/cartpole"), InFolder(name));
  Terminal terminal(place.path(), {"play", name, "--episodes", "0"});
  EXPECT_TRUE(terminal.Shows(name.substr(0, 100))) << terminal.output();
  EXPECT_THAT(terminal.output(), Not(HasSubstr(name)));
}

TEST_F(Play, InTheBackgroundOfATerminalItWritesFilesAndIsNotStopped) {
  Terminal shown(place.path(), {"play", "cartpole"}, Terminal::Side::kBackground);
  EXPECT_EQ(shown.Wait(), 2) << shown.output();
  EXPECT_THAT(shown.output(), HasSubstr("there is no terminal to show pictures on"));
  Terminal written(place.path(), {"play", "cartpole", "--gif", "a.gif"},
                   Terminal::Side::kBackground);
  EXPECT_EQ(written.Wait(), 0) << written.output();
  EXPECT_THAT(written.output(), Not(HasSubstr(kEnter)));
  EXPECT_TRUE(place.Read("a.gif").ends_with('\x3b'));
}

TEST_F(Play, EachWrongInputIsOneLineWithItsRemedy) {
  const auto fails = [&](std::vector<std::string> arguments, const std::string& sentence) {
    arguments.insert(arguments.begin(), "play");
    const Ran ran = Murmurate(arguments);
    EXPECT_EQ(ran.code, 2) << sentence;
    EXPECT_THAT(ran.errors, HasSubstr(sentence));
    EXPECT_EQ(std::ranges::count(ran.errors, '\n'), 1) << ran.errors;
  };
  fails({"cartpole"}, "play: there is no terminal to show pictures on");
  fails({"nothing", "--gif", "a.gif"}, "nothing: no such run");
  fails({"cartpole", "--gif", "a.gif", "--game", "chess"}, "chess not in {");
  fails({"cartpole", "--gif", "a.gif", "--checkpoint", "step-7"},
        "--checkpoint step-7: expected newest, best, or the name of a folder in ");
  fails({"cartpole", "--gif", "a.gif", "--episodes", "0"}, "--episodes 0 plays until q is pressed");
  fails({"cartpole", "--gif", "a.gif", "--sample", "--deterministic"}, "excludes");
  for (const char* which : {"best", "step-7"})
    fails({"runs/cartpole/checkpoints/latest", "--gif", "a.gif", "--checkpoint", which},
          "is one checkpoint already; leave out --checkpoint");
  ASSERT_EQ(Murmurate({"play", "cartpole", "--frames", "used"}).code, 0);
  place.Write("earlier.gif", "a picture");
  fails({"cartpole", "--gif", "earlier.gif", "--frames", "used"},
        "used: has frames already; remove them");
  EXPECT_EQ(place.Read("earlier.gif"), "a picture");
  const Ran other = Murmurate({"play", "cartpole", "--gif", "a.gif", "--game", "pendulum"});
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(
      other.errors,
      ContainsRegex("the weights do not fit pendulum \\(observation: expected float32 4[^;]*; "
                    "leave out --game, or name one of the same spaces\n$"));
}

TEST_F(Play, ARunOfAGameOfOnesOwnSaysHowToPlayIt) {
  std::string config = place.Read("runs/cartpole/config.toml");
  const std::size_t at = config.find("environment = \"cartpole\"");
  ASSERT_NE(at, std::string::npos) << config;
  config.erase(at, config.find('\n', at) - at);
  place.Write("runs/cartpole/config.toml", config);
  const Ran ran = Murmurate({"play", "cartpole", "--gif", "a.gif"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, ContainsRegex("run.environment is not set, and play shows built-in games "
                                        "only; name one of the same spaces with --game, or "
                                        "`murmurate export`"));
  EXPECT_EQ(Murmurate({"play", "cartpole", "--gif", "a.gif", "--game", "cartpole"}).code, 0);
  EXPECT_TRUE(place.Read("a.gif").starts_with("GIF89a"));
}

}  // namespace
}  // namespace murmurate
