#include "server/operate/learning_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(LearningCurve, WithoutPointsItSaysSo) {
  EXPECT_THAT(DrawLearningCurve({"empty", {}}, {}), HasSubstr("no episode has finished yet"));
}

TEST(LearningCurve, NamesBothAxesAndTheTarget) {
  const std::vector<CurvePoint> points{{1000, 20}, {2000, 480}};
  const std::string svg = DrawLearningCurve({"cartpole: ppo", 475.0}, points);
  EXPECT_THAT(svg, HasSubstr("environment steps"));
  EXPECT_THAT(svg, HasSubstr("mean return, last 100 episodes"));
  EXPECT_THAT(svg, HasSubstr("stop at 475"));
  EXPECT_THAT(svg, HasSubstr("<path d=\"M"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
}

TEST(LearningCurve, EvaluationsAreASecondLineWithALegend) {
  const std::vector<CurvePoint> points{{1000, 20}, {2000, 480}},
      evaluations{{1500, 900}, {2000, 5}};
  const std::string one = DrawLearningCurve({"t", {}}, points);
  EXPECT_THAT(one, ::testing::Not(HasSubstr("evaluation")));
  const std::string two = DrawLearningCurve({"t", {}, evaluations}, points);
  EXPECT_THAT(two, HasSubstr(">evaluation<"));
  EXPECT_THAT(two, HasSubstr(">1000<"));  // the axis reaches them
  const auto lines = [](const std::string& svg) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = svg.find("<path", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(lines(one), 1u);
  EXPECT_EQ(lines(two), 2u);
}

TEST(LearningCurve, ATitleCannotBreakOut) {
  EXPECT_THAT(DrawLearningCurve({"<script>&", {}}, {}), HasSubstr("&lt;script&gt;&amp;"));
}

}  // namespace
}  // namespace murmurate
