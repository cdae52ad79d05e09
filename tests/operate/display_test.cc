#include "server/operate/display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ProgressView Example() {
  ProgressView view;
  view.run = "runs/cartpole";
  view.steps = 61952;
  view.learned_steps = 61440;
  view.budget = 150000;
  view.mean_return = 431.25;
  view.target = 475;
  view.episodes = 812;
  view.steps_per_second = 152300;
  view.staleness = 1.04;
  view.version = 121;
  view.actors = 4;
  view.agents = 8;
  view.eta_s = 0.58;
  return view;
}

/// What a Display writes to a file, in order.
struct Written {
  explicit Written(Display::Mode mode) : file(open_memstream(&text, &size)), display(mode, file) {}
  ~Written() {
    std::fclose(file);
    std::free(text);
  }
  std::string Text() {
    std::fflush(file);
    return {text, size};
  }
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* file;
  Display display;
};

TEST(Display, LineHasEveryNumber) {
  EXPECT_EQ(
      Display::OneLine(Example()),
      "steps 61,952  learned from 61,440 of 150,000  return 431.2 of 475  episodes 812  152 k "
      "steps/s  staleness 1.0  version 121  actors 4  eta 0.6 s");
}

TEST(Display, AnEvaluationIsShownBesideTheReturn) {
  ProgressView view = Example();
  view.evaluation = 498.5;
  EXPECT_THAT(Display::OneLine(view),
              ::testing::HasSubstr("return 431.2 of 475  evaluation 498.5  episodes 812"));
  EXPECT_THAT(Display::TableLines(view),
              ::testing::Contains(::testing::AllOf(::testing::HasSubstr("evaluation"),
                                                   ::testing::HasSubstr(" 498.5 "))));
}

TEST(Display, LabelsHaveLossAndErrorInPlaceOfAReturn) {
  ProgressView view = Example();
  view.mean_return.reset();
  view.target.reset();
  view.scores = {{"train/loss", 0.01234567}, {"train/error", 0.0831}};
  EXPECT_THAT(Display::OneLine(view),
              ::testing::StartsWith(
                  "steps 61,952  learned from 61,440 of 150,000  train/loss 0.01235  train/error "
                  "0.0831  episodes 812"));
  EXPECT_THAT(Display::TableLines(view),
              ::testing::Contains(::testing::AllOf(HasSubstr("train/loss"), HasSubstr("0.01235"))));
  view.mean_return = 12;  // of games whose play is cloned
  EXPECT_THAT(Display::OneLine(view), HasSubstr("train/error 0.0831  return 12.0"));
}

TEST(Display, TheTableNamesStepsTakenAndStepsLearnedFrom) {
  const auto lines = Display::TableLines(Example());
  EXPECT_THAT(lines, ::testing::Contains(::testing::ContainsRegex("steps  .* 61,952 ")));
  EXPECT_THAT(lines,
              ::testing::Contains(::testing::ContainsRegex("learned from .* 61,440 of 150,000 ")));
  EXPECT_EQ(StepsInWords({.learned = 900, .taken = 1000}), "1,000 steps (900 learned from)");
}

TEST(Display, SmallReturnsKeepTheirDigits) {
  EXPECT_EQ(ReturnText(0.9581), "0.958");
  EXPECT_EQ(ReturnText(-9.5), "-9.500");
  EXPECT_EQ(ReturnText(-198.24), "-198.2");
}

TEST(Display, TableLinesAreEquallyWide) {
  const auto lines = Display::TableLines(Example());
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines.front().size()) << line;
}

TEST(Display, ALongSentenceNeverWrapsByItself) {
  ProgressView view = Example();
  view.run = "/a/rather/long/path/to/the/folder/of/a/run/cartpole";
  view.waiting =
      "model default waits for experience: 3 of 8 trajectories, none for 4.1 s; actor a-2 is "
      "silent for 4.1 s";
  const auto lines = Display::TableLines(view);
  for (const auto& line : lines) EXPECT_LE(line.size(), lines.front().size()) << line;
  EXPECT_THAT(lines.back(), ::testing::EndsWith("4.1 s"));
}

TEST(Display, ACheckpointThatWasNotWrittenIsSaidUntilOneIs) {
  ProgressView view = Example();
  view.checkpoints.last_step = 60000;
  EXPECT_THAT(Display::TableLines(view), ::testing::Contains(HasSubstr("step 60,000")));
  EXPECT_THAT(Display::OneLine(view), Not(HasSubstr("CHECKPOINT")));
  view.checkpoints.trouble = "cannot write w: No space left on device";
  EXPECT_THAT(Display::TableLines(view),
              ::testing::Contains(::testing::StartsWith("CHECKPOINT NOT WRITTEN: cannot write")));
  EXPECT_THAT(Display::OneLine(view), HasSubstr("CHECKPOINT NOT WRITTEN (last good step 60,000)"));
}

TEST(Display, BestWeightsThatWereNotKeptAreSaid) {
  ProgressView view = Example();
  EXPECT_THAT(Display::OneLine(view), Not(HasSubstr("BEST")));
  view.checkpoints.best_trouble = "cannot write w: No space left on device";
  EXPECT_THAT(Display::TableLines(view),
              ::testing::Contains(::testing::StartsWith("BEST WEIGHTS NOT KEPT: cannot write")));
  EXPECT_THAT(Display::OneLine(view), HasSubstr("BEST WEIGHTS NOT KEPT"));
}

TEST(Display, TableIsRedrawnInPlace) {
  Written written(Display::Mode::kTable);
  written.display.Show(Example());
  const std::string first = written.Text();
  written.display.Show(Example());
  const std::string second = written.Text().substr(first.size());
  EXPECT_EQ(second,
            "\x1b[" + std::to_string(Display::TableLines(Example()).size()) + "A\x1b[J" + first);
}

TEST(Display, AMessageGoesAboveTheTable) {
  Written written(Display::Mode::kTable);
  written.display.Show(Example());
  const std::string table = written.Text();
  written.display.Print("actor a-1 has left", written.file);
  EXPECT_THAT(written.Text().substr(table.size()),
              ::testing::EndsWith("actor a-1 has left\n" + table));
}

TEST(Display, QuietShowsNothingButMessages) {
  Written written(Display::Mode::kQuiet);
  written.display.Show(Example());
  written.display.Print("done", written.file);
  EXPECT_EQ(written.Text(), "done\n");
}

TEST(Display, NumbersAreMadeForReading) {
  EXPECT_EQ(WithCommas(7), "7");
  EXPECT_EQ(WithCommas(1234567), "1,234,567");
  EXPECT_EQ(ShortDuration(0.44), "0.4 s");
  EXPECT_EQ(ShortDuration(200), "3 min 20 s");
  EXPECT_EQ(ShortDuration(7500), "2 h 5 min");
}

}  // namespace
}  // namespace murmurate
