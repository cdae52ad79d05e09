// What becomes of messages that are taken: rows, or why there is none, and when the next is due.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "server/stream/due_time.h"
#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

ForecastSettings TempAndHum() {
  ForecastSettings settings = OneField(4);
  settings.fields = {{"temp", ""}, {"hum", ""}};
  return settings;
}

ModelSpec Small(const ForecastSettings& settings) {
  return SpecOf(settings, {.units = 4, .kind = Layer::Kind::kGru});
}

/// Both sides of what Totals promises.
void ExpectThatSumsClose(const Forecaster& forecaster, bool grid) {
  const Forecaster::Totals& t = forecaster.totals();
  if (grid)
    EXPECT_EQ(t.messages + t.empty,
              t.rows + t.incomplete + t.skipped + t.joined + forecaster.open_cells());
  else
    EXPECT_EQ(t.messages, t.rows + t.incomplete + t.skipped);
}

TEST(RowsMade, OfADeviceThatSendsOneQuantityAMessageAreNoneAndThatIsSaid) {
  const ForecastSettings settings = TempAndHum();
  Forecasting run(settings, Small(settings));
  const double none = std::nan("");
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(run.forecaster.stuck().empty(), i < 20) << i;
    ASSERT_EQ(run.Say("pump-1", i % 2 == 0 ? std::vector{20.0, none} : std::vector{none, 40.0}, i),
              Refusal::kNone);
    run.forecaster.Predict();
  }
  EXPECT_EQ(run.forecaster.stuck(),
            "device pump-1 has sent 20 messages and none with a value for every field (the last "
            "one had none for temp)");
  const Forecaster::Totals& totals = run.forecaster.totals();
  EXPECT_EQ(totals.messages, 200u);
  EXPECT_EQ(totals.rows, 0u);
  EXPECT_EQ(totals.forecasts, 0u);
  EXPECT_EQ(totals.incomplete, 200u);
  ExpectThatSumsClose(run.forecaster, false);
}

TEST(RowsMade, OnAGridTheSameDeviceMakesThem) {
  ForecastSettings settings = TempAndHum();
  settings.every_s = 2;
  Forecasting run(settings, Small(settings));
  const double none = std::nan("");
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(run.Say("pump-1", i % 2 == 0 ? std::vector{20.0, none} : std::vector{none, 40.0}, i),
              Refusal::kNone);
    ExpectThatSumsClose(run.forecaster, true);
  }
  run.forecaster.Predict();
  EXPECT_EQ(run.forecaster.totals().rows, 99u) << "the hundredth cell is open";
  EXPECT_EQ(run.forecaster.totals().forecasts, 99u);
  EXPECT_EQ(run.forecaster.totals().joined, 100u);
  EXPECT_EQ(run.forecaster.open_cells(), 1u);
  EXPECT_EQ(run.forecaster.stuck(), "");
}

TEST(RowsMade, SumsCloseOverEverythingThatHappensToADevice) {
  for (const bool grid : {false, true}) {
    ForecastSettings settings = TempAndHum();
    settings.every_s = grid ? 5 : 0;
    settings.max_gap = 3;
    settings.max_devices = 2;
    settings.forget_after_s = 50;
    Forecasting run(settings, Small(settings));
    Random random(9);
    const double none = std::nan("");
    double now_s = 1000;
    for (int i = 0; i < 3000; ++i) {
      now_s += random.UniformInt(100) == 0 ? 60 : 0.5 * static_cast<double>(random.UniformInt(8));
      const double late_s = random.UniformInt(10) == 0 ? 3 : 0;
      const bool whole = random.UniformInt(3) > 0;
      (void)run.Say("d" + std::to_string(random.UniformInt(3)), {1.0 * i, whole ? 2.0 * i : none},
                    now_s - late_s);
      ExpectThatSumsClose(run.forecaster, grid);
    }
    EXPECT_GT(run.forecaster.totals().skipped, 0u);
    EXPECT_GT(run.forecaster.totals().breaks, 0u);
  }
}

TEST(RowsMade, CountsGoOnFromACheckpoint) {
  ForecastSettings settings = TempAndHum();
  settings.every_s = 2;
  Forecasting run(settings, Small(settings)), again(settings, Small(settings));
  const double none = std::nan("");
  for (int i = 0; i < 40; ++i) ASSERT_EQ(run.Say("a", {1, i < 10 ? none : 2}, i), Refusal::kNone);
  run.forecaster.Predict();
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  EXPECT_EQ(again.forecaster.totals().incomplete, 5u);
  EXPECT_EQ(again.forecaster.totals().joined, 20u);
  for (int i = 40; i < 60; ++i) ASSERT_EQ(again.Say("a", {1, 2}, i), Refusal::kNone);
  ExpectThatSumsClose(again.forecaster, true);
}

TEST(RowsMade, NumbersThatCameBeforeACheckpointAreKnownAfterIt) {
  const ForecastSettings settings = OneField(4);
  Forecasting run(settings, Small(settings)), again(settings, Small(settings));
  Sample sample;
  sample.device = "a";
  sample.values = {1};
  const auto say = [&](Forecasting* to, std::uint64_t number) {
    sample.sequence = number;
    return to->forecaster.Consume(sample, 1'000'000'000);
  };
  for (const std::uint64_t n : {1u, 2u, 5u, 4u, 3000u}) ASSERT_EQ(say(&run, n), Refusal::kNone);
  run.forecaster.Predict();
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  EXPECT_EQ(say(&again, 4), Refusal::kDuplicate);
  EXPECT_EQ(say(&again, 3000), Refusal::kDuplicate);
  EXPECT_EQ(say(&again, 3), Refusal::kNone);
  EXPECT_EQ(say(&again, 2999), Refusal::kNone);
  EXPECT_EQ(again.forecaster.totals().late, 3u);
  EXPECT_EQ(again.forecaster.totals().gaps, 2993u) << "6 to 2998";
}

TEST(DueTimes, AreOneGapAheadFromTheSecondRowOn) {
  const ForecastSettings settings = OneField(4);
  Forecasting run(settings, Small(settings));
  std::vector<std::int64_t> ahead;
  run.on_forecast = [&](const Forecast& all) { ahead.push_back(DueTime(all, 0, 1) - all.time_ns); };
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(run.Say("a", {1}, 100 + i), Refusal::kNone);
    run.forecaster.Predict();
  }
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_THAT(ahead, testing::ElementsAre(0, kSecond, kSecond, kSecond, kSecond))
      << "the first row says nothing of gaps";
}

}  // namespace
}  // namespace murmurate
