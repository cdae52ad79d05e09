#include <gtest/gtest.h>

#include "server/learn/learner.h"

namespace murmurate {
namespace {

Schedule Make(double from, double to, Schedule::Shape shape) {
  Schedule schedule;
  schedule.from = from;
  schedule.to = to;
  schedule.steps = 1000;
  schedule.shape = shape;
  return schedule;
}

TEST(ScheduleTest, ANumberStaysWhatItIs) {
  const Schedule schedule = 0.2;
  EXPECT_EQ(schedule.At(0), 0.2);
  EXPECT_EQ(schedule.At(1'000'000'000), 0.2);
}

TEST(ScheduleTest, LinearIsAStraightLineThatEnds) {
  const Schedule schedule = Make(2.0, 1.0, Schedule::Shape::kLinear);
  EXPECT_DOUBLE_EQ(schedule.At(0), 2.0);
  EXPECT_DOUBLE_EQ(schedule.At(250), 1.75);
  EXPECT_DOUBLE_EQ(schedule.At(1000), 1.0);
  EXPECT_DOUBLE_EQ(schedule.At(5000), 1.0);
}

TEST(ScheduleTest, CosineFallsSlowlyAtBothEnds) {
  const Schedule schedule = Make(2.0, 1.0, Schedule::Shape::kCosine);
  EXPECT_DOUBLE_EQ(schedule.At(0), 2.0);
  EXPECT_NEAR(schedule.At(250), 1.5 + 0.5 * 0.70710678, 1e-8);
  EXPECT_NEAR(schedule.At(500), 1.5, 1e-12);
  EXPECT_NEAR(schedule.At(1000), 1.0, 1e-12);
  EXPECT_NEAR(schedule.At(9999), 1.0, 1e-12);
}

TEST(ScheduleTest, ExponentialDividesByTheSameFactor) {
  const Schedule schedule = Make(1.0, 0.01, Schedule::Shape::kExponential);
  EXPECT_NEAR(schedule.At(500), 0.1, 1e-12);
  EXPECT_NEAR(schedule.At(1000), 0.01, 1e-12);
  EXPECT_NEAR(schedule.At(2000), 0.01, 1e-12);
}

TEST(ScheduleTest, ExponentialToZeroFallsInAStraightLine) {
  EXPECT_DOUBLE_EQ(Make(1.0, 0.0, Schedule::Shape::kExponential).At(250), 0.75);
}

}  // namespace
}  // namespace murmurate
