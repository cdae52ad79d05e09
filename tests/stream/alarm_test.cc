#include "server/stream/alarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace murmurate {
namespace {

using ::testing::HasSubstr;

AlarmCondition Condition(const std::string& text, const std::vector<std::string>& targets = {"t"}) {
  const auto condition = AlarmCondition::Parse(text, targets, true);
  EXPECT_TRUE(condition.ok()) << condition.status().message();
  return condition.ok() ? *condition : AlarmCondition();
}

std::string Refused(const std::string& text, const std::vector<std::string>& targets = {"t"},
                    bool quantiles = true) {
  const auto condition = AlarmCondition::Parse(text, targets, quantiles);
  return condition.ok() ? "" : condition.status().message();
}

TEST(AlarmConditionTest, IsAQuantityAComparisonAndANumber) {
  using Q = AlarmCondition::Quantity;
  using C = AlarmCondition::Compare;
  EXPECT_EQ(Condition("forecast > 30"), (AlarmCondition{0, Q::kForecast, C::kGreater, 30}));
  EXPECT_EQ(Condition("  value  <=  -1.5e3 "), (AlarmCondition{0, Q::kValue, C::kAtMost, -1500}));
  EXPECT_EQ(Condition("t.high >= 0"), (AlarmCondition{0, Q::kHigh, C::kAtLeast, 0}));
  EXPECT_EQ(Condition("b.error < 2", {"a", "b"}), (AlarmCondition{1, Q::kError, C::kLess, 2}));
  EXPECT_EQ(Condition("value outside"), (AlarmCondition{0, Q::kValue, C::kOutside, 0}));
}

TEST(AlarmConditionTest, AnythingElseIsRefusedInASentence) {
  for (const char* text : {"", "forecast", "forecast >", "> 3", "forecast > 3 4"})
    EXPECT_THAT(Refused(text), HasSubstr("write a quantity, a comparison and a number")) << text;
  EXPECT_THAT(Refused("frocast > 3"), HasSubstr("not frocast"));
  EXPECT_THAT(Refused("forecast => 3"), HasSubstr("not =>"));
  EXPECT_THAT(Refused("forecast > nan"), HasSubstr("not nan"));
  EXPECT_THAT(Refused("forecast > 3x"), HasSubstr("not 3x"));
  EXPECT_THAT(Refused("x.forecast > 3"), HasSubstr("x is no target"));
  EXPECT_THAT(Refused("forecast > 3", {"a", "b"}), HasSubstr("a.forecast"));
  EXPECT_THAT(Refused("forecast outside"), HasSubstr("only a value"));
  EXPECT_THAT(Refused("value outside", {"t"}, false), HasSubstr("two quantiles"));
  EXPECT_THAT(Refused("low > 3", {"t"}, false), HasSubstr("two quantiles"));
}

TEST(AlarmConditionTest, WhatIsNoNumberMeetsNone) {
  const AlarmQuantities row[] = {{.value = std::nanf("")}};
  for (const char* text : {"value > 0", "value < 0", "value >= 0", "value <= 0", "low > -1e9"})
    EXPECT_FALSE(Condition(text).Holds(row)) << text;
}

TEST(AlarmTest, IsRaisedAfterSoManyRowsAndClearedByItsOwnCondition) {
  const AlarmSettings settings{Condition("value > 30"), 3, Condition("value < 28")};
  AlarmState state;
  std::string changes;
  for (const float value : {31.0f, 31.0f, 29.0f, 31.0f, 31.0f, 31.0f, 32.0f, 29.0f, 27.0f, 31.0f}) {
    const AlarmQuantities row[] = {{.value = value}};
    changes += ".RC"[static_cast<int>(UpdateAlarm(settings, row, &state))];
  }
  EXPECT_EQ(changes, ".....R..C.");
}

TEST(AlarmTest, WithoutOneItIsClearedWhenItNoLongerHolds) {
  const AlarmSettings settings{Condition("value outside"), 1, {}};
  AlarmState state;
  std::string changes;
  for (const bool outside : {false, true, true, false}) {
    const AlarmQuantities row[] = {{.outside = outside}};
    changes += ".RC"[static_cast<int>(UpdateAlarm(settings, row, &state))];
  }
  EXPECT_EQ(changes, ".R.C");
}

}  // namespace
}  // namespace murmurate
