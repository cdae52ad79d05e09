#include "server/operate/learning_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LearningCurve, TicksAreRoundNumbersAroundTheData) {
  EXPECT_THAT(RoundTicks(0, 500, 5), ElementsAre(0, 100, 200, 300, 400, 500));
  EXPECT_THAT(RoundTicks(0, 61952, 6), ElementsAre(0, 20000, 40000, 60000, 80000));
  EXPECT_THAT(RoundTicks(-130, 20, 3), ElementsAre(-150, -100, -50, 0, 50));
  EXPECT_THAT(RoundTicks(3, 3, 2), ElementsAre(3, 3.5, 4));
}

std::string Draw(const CurveDrawing& drawing, const std::vector<CurveSeries>& series) {
  return DrawLearningCurves(drawing, series);
}

CurveDrawing Titled(const std::string& title) {
  CurveDrawing drawing;
  drawing.title = title;
  return drawing;
}

TEST(LearningCurve, WithoutPointsItSaysSo) {
  EXPECT_THAT(Draw(Titled("empty"), {}), HasSubstr("no episode has finished yet"));
  EXPECT_THAT(Draw(Titled("empty"), {{"a", {{}, {}}}}), HasSubstr("no episode has finished yet"));
}

TEST(LearningCurve, NamesBothAxesAndTheTarget) {
  CurveDrawing drawing = Titled("cartpole: ppo");
  drawing.target = 475.0;
  const std::string svg = Draw(drawing, {{"", {{{1000, 20}, {2000, 480}}}}});
  EXPECT_THAT(svg, HasSubstr("environment steps"));
  EXPECT_THAT(svg, HasSubstr("mean return, last 100 episodes"));
  EXPECT_THAT(svg, HasSubstr("stop at 475"));
  EXPECT_THAT(svg, HasSubstr("<path d=\"M"));
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme:dark"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST(LearningCurve, ATitleAndANameCannotBreakOut) {
  EXPECT_THAT(Draw(Titled("<script>&"), {}), HasSubstr("&lt;script&gt;&amp;"));
  EXPECT_THAT(Draw(Titled("x"), {{"<b>", {{{1, 1}}}}}), HasSubstr("&lt;b&gt;"));
}

// Three runs, the second of them over at 200 steps: at 150 they are 15, 150 and 1 (halfway between
// their points), from 200 on the others alone: at 250 they are 25 and 3, at 300 30 and 4.
TEST(LearningCurve, SeveralRunsAreTheirMedianAndTheirRangeAsFarAsEachWent) {
  const std::vector<std::vector<CurvePoint>> runs{{{100, 10}, {200, 20}, {300, 30}},
                                                  {{100, 100}, {200, 200}},
                                                  {{50, 7}, {150, 1}, {300, 4}},
                                                  {}};
  const auto spread = SpreadOf(runs, 5);
  ASSERT_EQ(spread.size(), 5u);
  const auto expect = [&](int i, std::uint64_t steps, double least, double median, double most) {
    const CurveSpread& at = spread[static_cast<std::size_t>(i)];
    EXPECT_EQ(at.steps, steps);
    EXPECT_DOUBLE_EQ(at.least, least) << i;
    EXPECT_DOUBLE_EQ(at.median, median) << i;
    EXPECT_DOUBLE_EQ(at.most, most) << i;
  };
  expect(0, 100, 4, 10, 100);
  expect(1, 150, 1, 15, 150);
  expect(2, 200, 2, 20, 200);
  expect(3, 250, 3, 14, 25);
  expect(4, 300, 4, 17, 30);
  const auto ends = EarlyEndsOf(runs);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].steps, 200u);
}

// As three runs of recall, one of them stopped at 580 k of 1.5 M steps: flat at 0.93 it would hold
// the median there.
TEST(LearningCurve, ARunThatStoppedEarlyEndsAtADotAndTheLegendSaysSo) {
  const std::vector<std::vector<CurvePoint>> runs{{{0, 0}, {580'000, 0.93}},
                                                  {{0, 0}, {750'000, 0.1}, {1'500'000, 1}},
                                                  {{0, 0}, {750'000, 0.2}, {1'490'000, 0.5}}};
  const auto spread = SpreadOf(runs, 2);
  EXPECT_DOUBLE_EQ(spread[1].median, 0.75);
  EXPECT_DOUBLE_EQ(spread[1].most, 1);
  const std::string svg = Draw(Titled("recall"), {{"", runs}});
  EXPECT_THAT(svg,
              HasSubstr("median and range of 3 runs, of each as far as it went (dot: its end)"));
  EXPECT_THAT(svg, HasSubstr("r=\"2.5\""));
  const std::string even = Draw(Titled("recall"), {{"", {runs[1], runs[2]}}});
  EXPECT_THAT(even, HasSubstr("median and range of 2 runs<"));
  EXPECT_EQ(even.find("r=\"2.5\""), even.npos);
}

TEST(LearningCurve, TheMedianOfTwoLiesBetweenThem) {
  const std::vector<std::vector<CurvePoint>> runs{{{0, 1}, {10, 1}}, {{0, 4}, {10, 4}}};
  EXPECT_DOUBLE_EQ(SpreadOf(runs, 2)[1].median, 2.5);
}

TEST(LearningCurve, SixSeriesOfManyPointsStaySmallAndAreAllNamed) {
  std::vector<CurvePoint> run;
  for (std::uint64_t i = 0; i < 100'000; ++i) run.push_back({i * 17, static_cast<double>(i % 977)});
  std::vector<CurveSeries> series;
  for (int i = 0; i < 6; ++i) series.push_back({"s" + std::to_string(i), {run, run}});
  EXPECT_LT(Draw(Titled("many"), {series[0]}).size(), 40u << 10);
  EXPECT_LT(Draw(Titled("one"), {{"one", {run}}}).size(), 40u << 10);
  const std::string svg = Draw(Titled("all"), series);
  EXPECT_LT(svg.size(), 40u << 10);
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(svg, HasSubstr(">s" + std::to_string(i) + " (2 runs)<"));
  }
}

TEST(LearningCurve, ACurveIsReadFromItsColumn) {
  TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  std::ofstream(path) << "time/total_timesteps,x,rollout/ep_rew_mean\n0,1,\n100,2,-3.5\n100,2,-3\n"
                         "200,,nan\n300,4,7\nbroken\n";
  const auto points = ReadCurve(path, "rollout/ep_rew_mean");
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 2u);  // the later of two rows at one step
  EXPECT_EQ((*points)[0].steps, 100u);
  EXPECT_EQ((*points)[0].mean_return, -3);
  EXPECT_EQ((*points)[1].steps, 300u);
  EXPECT_EQ(ReadCurve(path, "y").status().message(),
            path + ":1: no column \"y\"; name one of its first line");
  EXPECT_FALSE(ReadCurve(path + "2", "x").ok());
}

TEST(LearningCurve, AReportedNameIsReadOverItsSteps) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/reports.csv";
  std::ofstream(path) << "steps,name,mean,count\n10,stream/error,0.5,1\n10,other,7,1\n"
                         "20,stream/error,0.25,3\n";
  const auto points = ReadReportedCurve(path, "stream/error");
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 2u);
  EXPECT_EQ((*points)[0].mean_return, 0.5);
  EXPECT_EQ((*points)[1].steps, 20u);
  EXPECT_EQ(ReadReportedCurve(path, "error").status().message(),
            path + ": no rows of \"error\"; name one of its second column");
}

}  // namespace
}  // namespace murmurate
