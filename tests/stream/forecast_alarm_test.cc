// The alarm of each device of a Forecaster.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <string>
#include <utility>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Layer Gru(int units) { return {.units = units, .kind = Layer::Kind::kGru}; }

AlarmCondition Condition(const std::string& text) {
  const auto condition = AlarmCondition::Parse(text, {"x"}, true);
  EXPECT_TRUE(condition.ok()) << condition.status().message();
  return *condition;
}

ForecastSettings Alarmed(const std::string& when, std::uint32_t rows = 1) {
  ForecastSettings settings = OneField(4);
  settings.alarm = AlarmSettings{Condition(when), rows, {}};
  return settings;
}

/// A stream whose model nobody teaches: under 20 rows it publishes the last value.
class Alarms {
 public:
  explicit Alarms(const ForecastSettings& settings) : run(settings, SpecOf(settings, Gru(4))) {
    run.on_forecast = [this](const Forecast& all) {
      changes += ".RC"[static_cast<int>(all.alarm)];
    };
  }
  /// What each row did: nothing, raised, cleared.
  std::string Say(const std::string& device, std::vector<double> values) {
    changes.clear();
    for (const double value : values) {
      EXPECT_EQ(run.Say(device, {value}, time_s++), Refusal::kNone);
      run.forecaster.Predict();
    }
    return changes;
  }
  std::size_t raised() const { return run.forecaster.alarms(); }

  Forecasting run;
  std::string changes;
  double time_s = 0;
};

TEST(DeviceAlarm, IsRaisedAfterSoManyRowsOfADeviceAndCleared) {
  ForecastSettings settings = Alarmed("forecast > 30", 3);
  settings.alarm->clear = Condition("value < 28");
  Alarms alarms(settings);
  EXPECT_EQ(alarms.Say("a", {31, 31, 29, 31, 31}), ".....");
  EXPECT_EQ(alarms.Say("b", {31, 31}), "..") << "each device has its own rows";
  EXPECT_EQ(alarms.raised(), 0u);
  EXPECT_EQ(alarms.Say("a", {31, 32, 29}), "R..");
  EXPECT_EQ(alarms.raised(), 1u);
  EXPECT_EQ(alarms.Say("b", {31}), "R");
  EXPECT_EQ(alarms.raised(), 2u);
  EXPECT_EQ(alarms.Say("a", {27, 31}), "C.");
  EXPECT_EQ(alarms.raised(), 1u);
}

TEST(DeviceAlarm, GoesOnFromWhatWasSaved) {
  const ForecastSettings settings = Alarmed("value > 30", 3);
  Alarms before(settings), after(settings), without(OneField(4));
  EXPECT_EQ(before.Say("raised", {31, 31, 31}), "..R");
  EXPECT_EQ(before.Say("held", {31, 31}), "..");
  SavedState state;
  before.run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(after.run.forecaster.Load(StateReader(state, "stream")).ok());
  after.time_s = before.time_s;
  EXPECT_EQ(after.raised(), 1u);
  EXPECT_EQ(after.Say("held", {31}), "R");
  EXPECT_EQ(after.Say("raised", {31, 20}), ".C");
  EXPECT_EQ(after.raised(), 1u);
  ASSERT_TRUE(without.run.forecaster.Load(StateReader(state, "stream")).ok());
  EXPECT_EQ(without.raised(), 0u) << "a stream without an alarm has none raised";
}

TEST(DeviceAlarm, AValueThatIsMissingRaisesAndClearsNothing) {
  Alarms alarms(Alarmed("value > 30", 2));
  EXPECT_EQ(alarms.Say("a", {31, kNaN, kNaN, 31, kNaN, 20}), "...R.C");
}

TEST(DeviceAlarm, OfTheErrorWaitsForTheFirstOne) {
  Alarms alarms(Alarmed("error < 1"));
  EXPECT_EQ(alarms.Say("a", {5, 5, 9}), ".RC") << "the mean of 0 and 4 is 2";
}

TEST(DeviceAlarm, OfADeviceThatIsForgottenIsNoLongerCounted) {
  ForecastSettings settings = Alarmed("value > 30");
  settings.max_devices = 1;
  settings.forget_after_s = 10;
  Alarms alarms(settings);
  EXPECT_EQ(alarms.Say("a", {31}), "R");
  alarms.time_s = 20;
  EXPECT_EQ(alarms.Say("b", {5}), ".");
  EXPECT_EQ(alarms.run.forecaster.devices(), 1u);
  EXPECT_EQ(alarms.raised(), 0u);
}

class Outside : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(Outside, IsAValueBeyondTheIntervalThatWasForecastForItAFirstHorizonAgo) {
  ForecastSettings settings = OneField(4, GetParam());
  settings.quantiles = {0.2, 0.8};
  settings.alarm = AlarmSettings{Condition("value outside"), 1, {}};
  Forecasting run(settings, SpecOf(settings, Gru(8)));
  std::deque<std::pair<double, double>> intervals;  // of the two rows before this one
  bool raised = false;
  int row = 0, changes = 0;
  run.on_forecast = [&](const Forecast& all) {
    const double x = all.values[0];
    const bool known = row >= 21;  // 20 have been scored: rows 2 to 21
    const bool outside = known && (x < intervals[0].first || x > intervals[0].second);
    const AlarmChange expected = outside == raised ? AlarmChange::kNone
                                 : outside         ? AlarmChange::kRaised
                                                   : AlarmChange::kCleared;
    EXPECT_EQ(all.alarm, expected) << row;
    changes += outside != raised;
    raised = outside;
    const auto quantiles = all.predictions[0].quantiles;
    intervals.emplace_back(quantiles.front(), quantiles.back());
    if (intervals.size() > 2) intervals.pop_front();
    ++row;
  };
  Random random(5);
  for (int i = 0; i < 600; ++i) {
    ASSERT_EQ(run.Say("a", {static_cast<float>(random.Normal())}, i), Refusal::kNone);
    run.Learn();
  }
  EXPECT_EQ(row, 600);
  EXPECT_GT(changes, 100);
}
INSTANTIATE_TEST_SUITE_P(Of, Outside,
                         ::testing::Values(std::vector<int>{2}, std::vector<int>{2, 3}));

}  // namespace
}  // namespace murmurate
