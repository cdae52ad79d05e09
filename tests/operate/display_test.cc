#include "server/operate/display.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "server/metrics/model_metrics.h"
#include "server/operate/evaluation.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ScreenView Example() {
  ScreenView view{.run = "runs/cartpole", .model = Reading()};
  view.model.Set(kEnvironmentSteps, 61952);
  view.model.Set(kLearnedSteps, 61440);
  view.model.Set(kBudget, 150000);
  view.model.Set(kMeanReturn, 431.25);
  view.model.Set(kTargetReturn, 475.0);
  view.model.Set(kEpisodeCount, 812);
  view.model.Set(kStepRate, 152300.0);
  view.model.Set(kStaleness, 1.04);
  view.model.Set(kVersion, 121);
  view.model.Set(kActors, 4);
  view.model.Set(kAgents, 8);
  view.model.Set(kElapsed, 0.4);
  view.model.Set(kEta, 0.58);
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

TEST(Display, ALineSaysHowFarHowGoodHowFastHowLongAndHowOldExperienceIs) {
  EXPECT_EQ(OneLine(Example()),
            "40 %  return 431.2  152 k steps/s  eta 0.6 s  experience is 1.0 versions old");
  ScreenView view = Example();
  view.model.Set(kBudget, MetricValue());
  view.model.Set(kEta, MetricValue());
  view.model.Set(kStaleness, 0.0);
  EXPECT_EQ(OneLine(view),
            "61,952 steps  return 431.2 of 475  152 k steps/s  experience is up to date");
}

TEST(Display, ALineFitsATerminalWhateverItsNumbers) {
  ScreenView view = Example();
  view.model.Set(kEnvironmentSteps, 123'456'789'012);
  view.model.Set(kMeanReturn, -123456.7);
  view.model.Set(kEvalReturn, -123456.7);
  view.model.Set(kSuccessRate, 0.5);
  view.model.Set(kEta, 7'000'000.0);
  view.model.Set(kStaleness, 1234.5);
  view.model.Add(kReported, "kills", 3.25, 10);
  view.settings = {{"difficulty", 2.5}};
  for (const bool bounded : {true, false}) {
    if (!bounded) view.model.Set(kBudget, MetricValue());
    EXPECT_LE(OneLine(view).size(), kLineWidth) << OneLine(view);
    EXPECT_THAT(OneLine(view), HasSubstr("return -123456.7"));
    EXPECT_THAT(OneLine(view), HasSubstr("1234.5 versions old"));
  }
}

TEST(Display, ALineHasNumbersOfTheGameWhereThereIsRoom) {
  ScreenView view = Example();
  for (const Metric* metric : {&kEta, &kTargetReturn}) view.model.Set(*metric, MetricValue());
  view.model.Add(kReported, "kills", 3.25, 10);
  EXPECT_THAT(OneLine(view), ::testing::EndsWith("experience is 1.0 versions old  kills 3.250"));
}

TEST(Display, AnEvaluationIsShownBesideTheReturn) {
  ScreenView view = Example();
  view.model.Set(kEvalReturn, 498.5);
  EXPECT_THAT(OneLine(view), ::testing::HasSubstr("return 431.2  evaluation 498.5  152 k steps/s"));
  EXPECT_THAT(TableLines(view),
              ::testing::Contains(::testing::AllOf(::testing::HasSubstr("evaluation"),
                                                   ::testing::HasSubstr(" 498.5 "))));
}

TEST(Display, LabelsHaveLossAndErrorInPlaceOfAReturn) {
  ScreenView view = Example();
  view.model.Set(kMeanReturn, MetricValue());
  view.model.Set(kTargetReturn, MetricValue());
  view.model.Set(kLoss, 0.01234567);
  view.model.Set(kLabelError, 0.0831);
  EXPECT_EQ(OneLine(view),
            "40 %  train/loss 0.01235  train/error 0.0831  152 k steps/s  eta 0.6 s");
  EXPECT_THAT(TableLines(view),
              ::testing::Contains(::testing::AllOf(HasSubstr("train/loss"), HasSubstr("0.01235"))));
  view.model.Set(kMeanReturn, 12.0);  // of games whose play is cloned
  EXPECT_THAT(OneLine(view), HasSubstr("return 12.0"));
}

TEST(Display, TheTableNamesStepsTakenAndStepsLearnedFrom) {
  const auto lines = TableLines(Example());
  EXPECT_THAT(lines, ::testing::Contains(::testing::ContainsRegex("steps  .* 61,952 ")));
  EXPECT_THAT(lines,
              ::testing::Contains(::testing::ContainsRegex("learned from .* 61,440 of 150,000 ")));
  EXPECT_EQ(StepsInWords({.learned = 900, .taken = 1000}), "1,000 steps (900 learned from)");
}

TEST(Display, TableLinesAreEquallyWide) {
  const auto lines = TableLines(Example());
  for (const auto& line : lines) EXPECT_EQ(line.size(), lines.front().size()) << line;
}

TEST(Display, ALongSentenceNeverWrapsByItself) {
  ScreenView view = Example();
  view.run = "/a/rather/long/path/to/the/folder/of/a/run/cartpole";
  view.model.Set(kWaits,
                 "model default waits for experience: 3 of 8 trajectories, none for 4.1 s; actor "
                 "a-2 is silent for 4.1 s");
  const auto lines = TableLines(view);
  for (const auto& line : lines) EXPECT_LE(line.size(), lines.front().size()) << line;
  EXPECT_THAT(lines.back(), ::testing::EndsWith("4.1 s"));
}

TEST(Display, ACheckpointThatWasNotWrittenIsSaidUntilOneIs) {
  ScreenView view = Example();
  view.model.Set(kCheckpointStep, 60000);
  EXPECT_THAT(TableLines(view), ::testing::Contains(HasSubstr("step 60,000")));
  EXPECT_THAT(OneLine(view), Not(HasSubstr("CHECKPOINT")));
  view.model.Set(kCheckpointTrouble, "cannot write w: No space left on device");
  EXPECT_THAT(TableLines(view),
              ::testing::Contains(::testing::StartsWith("CHECKPOINT NOT WRITTEN: cannot write")));
  EXPECT_THAT(OneLine(view), HasSubstr("CHECKPOINT NOT WRITTEN (last good step 60,000)"));
}

TEST(Display, BestWeightsThatWereNotKeptAreSaid) {
  ScreenView view = Example();
  EXPECT_THAT(OneLine(view), Not(HasSubstr("BEST")));
  view.model.Set(kBestTrouble, "cannot write w: No space left on device");
  EXPECT_THAT(TableLines(view),
              ::testing::Contains(::testing::StartsWith("BEST WEIGHTS NOT KEPT: cannot write")));
  EXPECT_THAT(OneLine(view), HasSubstr("BEST WEIGHTS NOT KEPT"));
}

TEST(Display, TableIsRedrawnInPlace) {
  Written written(Display::Mode::kTable);
  written.display.Show(Example());
  const std::string first = written.Text();
  written.display.Show(Example());
  const std::string second = written.Text().substr(first.size());
  EXPECT_EQ(second, "\x1b[" + std::to_string(TableLines(Example()).size()) + "A\x1b[J" + first);
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

}  // namespace
}  // namespace murmurate
