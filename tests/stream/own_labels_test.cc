// Messages that have inputs and target together (horizon = 0): forecast, then learned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shared/core/clock.h"
#include "tests/stream/forecasting.h"
#include "tests/stream/lab.h"

namespace murmurate {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Inputs "a" and "b", and the target "y" beside them or also among them.
ForecastSettings Together(int window = 4, bool y_is_a_field = false) {
  ForecastSettings settings;
  settings.fields = {{"a", ""}, {"b", ""}};
  if (y_is_a_field)
    settings.fields.push_back({"y", ""});
  else
    settings.labels = {{"y", ""}};
  settings.targets = {2};
  settings.horizons = {0};
  settings.window = window;
  return settings;
}

class Mill : public Forecasting {
 public:
  explicit Mill(const ForecastSettings& settings, const Layer& layer = Gru(8))
      : Forecasting(settings, SpecOf(settings, layer)) {
    on_forecast = [this](const Forecast& made) {
      last = made.predictions[0];
      all.push_back(last.model);
    };
  }
  Refusal Send(std::vector<double> values, const std::string& device = "mill") {
    const Refusal refusal = Say(device, std::move(values), ++now_s_);
    forecaster.Predict();
    return refusal;
  }
  void SetClock(const Mill& other) { now_s_ = other.now_s_; }
  Forecaster::Totals totals() const { return forecaster.totals(); }

  Prediction last;
  std::vector<double> all;  ///< what the model said of each message

 private:
  double now_s_ = 1'700'000'000;
};

class OwnLabels : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, OwnLabels, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "gru" : "mlp"); });

Layer LayerOf(bool recurrent) { return recurrent ? Gru(16) : Tanh(32); }

TEST_P(OwnLabels, AreLearnedFromTheFieldsOfTheirMessageNearlyAsWellAsCanBe) {
  Mill mill(Together(2), LayerOf(GetParam()));
  Random random(3);
  double best = 0, mine = 0, naive = 0;
  for (int i = 0; i < 12'000; ++i) {
    const double a = random.Normal(), b = random.Normal(), noise = 0.5 * random.Normal();
    const double y = 2 * a - b + noise;
    ASSERT_EQ(mill.Send({a, b, y}), Refusal::kNone);
    mill.Learn();
    if (i < 8'000) continue;
    best += std::abs(noise);
    mine += std::abs(y - mill.last.published);
    naive += std::abs(y - mill.last.baseline);
  }
  std::printf("%.3f times the best possible error, naive %.2f times\n", mine / best, naive / best);
  EXPECT_LT(mine, 1.25 * best);
  EXPECT_LT(mine, 0.3 * naive);
  EXPECT_EQ(mill.totals().learned, 11'999u) << "the first has no label before it";
  EXPECT_EQ(mill.totals().unlearned, 0u);
}

/// y is the b of three messages ago, which only a model that remembers can know.
TEST(OwnLabelsOfADevice, AreForecastFromAStateThatGoesOnOverItsMessages) {
  Mill mill(Together(8), Gru(24));
  Random random(5);
  std::vector<double> past(3);
  double mine = 0, naive = 0;
  for (int i = 0; i < 12'000; ++i) {
    const double b = random.Normal(), y = past[static_cast<std::size_t>(i % 3)];
    past[static_cast<std::size_t>(i % 3)] = b;
    ASSERT_EQ(mill.Send({0.0, b, y}), Refusal::kNone);
    mill.Learn();
    if (i < 10'000) continue;
    mine += std::abs(y - mill.last.model);
    naive += std::abs(y - mill.last.baseline);
  }
  std::printf("%.2f of the naive error\n", mine / naive);
  EXPECT_LT(mine, 0.5 * naive);
}

/// Two streams get the same messages but for the label of one; the forecast of that message must be
/// the same to the last bit, and that of the next must not.
TEST_P(OwnLabels, AreNotVisibleToTheirOwnForecast) {
  for (const bool y_is_a_field : {false, true}) {
    const ForecastSettings settings = Together(4, y_is_a_field);
    Mill one(settings, LayerOf(GetParam())), other(settings, LayerOf(GetParam()));
    Random random(9);
    for (int i = 0; i < 60; ++i) {
      const double a = random.Normal(), b = random.Normal(), y = random.Normal();
      for (Mill* mill : {&one, &other}) {
        ASSERT_EQ(mill->Send({a, b, y}), Refusal::kNone);
        mill->Learn();
      }
    }
    for (const double y : {1e3, -5.0, kNone}) {
      ASSERT_EQ(one.Send({0.5, 0.25, 0.75}), Refusal::kNone);
      ASSERT_EQ(other.Send({0.5, 0.25, y}), Refusal::kNone);
      ASSERT_EQ(one.last.model, other.last.model) << y;
      ASSERT_EQ(one.last.baseline, other.last.baseline) << y;
      ASSERT_EQ(one.Send({0.5, 0.25, 0.75}), Refusal::kNone);
      ASSERT_EQ(other.Send({0.5, 0.25, 0.75}), Refusal::kNone);
      ASSERT_NE(one.last.model, other.last.model) << y;
      other.SetClock(one);
      SavedState state;  // the same again
      one.Learn(), other.Learn();
      one.forecaster.Save(StateWriter(&state, "stream"));
      ASSERT_TRUE(other.forecaster.Load(StateReader(state, "stream")).ok());
      other.forecaster.ApplyWeights(*one.learner.MakeSnapshot());
    }
  }
}

TEST(OwnLabelsOfADevice, AreScoredAtOnceAgainstTheForecastOfTheirMessage) {
  Mill mill(Together());
  ASSERT_EQ(mill.Send({1, 2, 10}), Refusal::kNone);
  EXPECT_TRUE(std::isnan(mill.last.published)) << "no label is known";
  ASSERT_EQ(mill.Send({1, 2, 14}), Refusal::kNone);
  EXPECT_EQ(mill.last.baseline, 10);
  EXPECT_EQ(mill.last.score.count, 0);
  ASSERT_EQ(mill.Send({1, 2, 15}), Refusal::kNone);
  EXPECT_EQ(mill.last.baseline, 14);
  EXPECT_EQ(mill.last.score.count, 1);
  EXPECT_EQ(mill.last.score.baseline, 4) << "14 was forecast as 10";
  ASSERT_EQ(mill.Send({1, 2, kNone}), Refusal::kNone);
  EXPECT_EQ(mill.last.baseline, 15);
  EXPECT_EQ(mill.last.score.count, 2);
  ASSERT_EQ(mill.Send({1, 2, 16}), Refusal::kNone);
  EXPECT_EQ(mill.last.baseline, 15) << "of the newest message that had one";
  EXPECT_EQ(mill.last.score.count, 2) << "a message without a label scores nothing";
}

TEST_P(OwnLabels, ThatAreNotThereAreForecastAndNotLearned) {
  for (const int every : {2, 3, 7, 40}) {
    Mill mill(Together(4), LayerOf(GetParam()));
    std::uint64_t labels = 0;
    for (int i = 0; i < 200; ++i) {
      const bool has = i % every == 0;
      labels += has ? 1 : 0;
      ASSERT_EQ(mill.Send({i * 0.1, 1, has ? i : kNone}), Refusal::kNone);
      if (i % 5 == 0) mill.Learn();
    }
    mill.Learn();
    EXPECT_EQ(mill.all.size(), 200u);
    EXPECT_EQ(mill.totals().rows, 200u);
    EXPECT_EQ(mill.totals().complete, labels - 1);
    EXPECT_EQ(mill.totals().learned + mill.totals().unlearned, labels - 1) << every;
    EXPECT_EQ(mill.totals().learned, mill.learned);
    if (GetParam() && every > 3) continue;
    EXPECT_GT(mill.totals().learned, 0u);
  }
}

TEST_P(OwnLabels, ThatNeverComeTeachNothing) {
  Mill mill(Together(), LayerOf(GetParam()));
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(mill.Send({1.0 * i, 2, kNone}), Refusal::kNone);
    mill.Learn();
  }
  EXPECT_EQ(mill.all.size(), 50u);
  EXPECT_EQ(mill.learned, 0u);
  EXPECT_EQ(mill.totals().complete, 0u);
}

TEST_P(OwnLabels, ThatLeaveTheWindowBeforeTheirTurnAreCounted) {
  Mill mill(Together(4), LayerOf(GetParam()));
  for (int i = 0; i < 101; ++i)
    ASSERT_EQ(mill.Send({1.0 * i, 2, i % 4 == 0 ? kNone : 1.0 * i}), Refusal::kNone);
  mill.Learn();
  EXPECT_EQ(mill.totals().complete, 74u);
  EXPECT_EQ(mill.totals().learned, GetParam() ? 3u : 12u) << "of the last 4 (or 16) messages";
  EXPECT_EQ(mill.totals().unlearned, 74u - mill.totals().learned);
}

TEST_P(OwnLabels, GoOnFromWhatWasSavedAsIfNothingHadStopped) {
  const ForecastSettings settings = Together(5);
  Mill whole(settings, LayerOf(GetParam())), again(settings, LayerOf(GetParam()));
  const auto send = [](Mill& mill, int i) {
    const double y = i % 5 == 3 ? kNone : std::sin(i * 0.7);
    ASSERT_EQ(mill.Send({std::sin(i * 0.3), 1.0 * i, y}, "device " + std::to_string(i % 3)),
              Refusal::kNone);
  };
  for (int i = 0; i < 120; ++i) {
    send(whole, i);
    if (i <= 112 && i % 3 == 0) whole.Learn();
  }
  TrainingBatch batch(TrajectoryLayout(SpecOf(settings, LayerOf(GetParam())), GetParam() ? 5 : 1),
                      1);
  ASSERT_TRUE(whole.forecaster.Fill(&batch));
  SavedState state;
  whole.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  again.SetClock(whole);
  again.forecaster.ApplyWeights(*whole.learner.MakeSnapshot());
  whole.all.clear(), again.all.clear();
  for (int i = 120; i < 123; ++i) send(whole, i), send(again, i);
  EXPECT_EQ(whole.all.size(), 3u);
  EXPECT_EQ(whole.all, again.all);
  EXPECT_EQ(whole.last.score.model, again.last.score.model);
  EXPECT_EQ(whole.totals().complete, again.totals().complete);
  const std::uint64_t before = again.totals().learned;
  again.Learn();
  EXPECT_EQ(again.totals().learned, again.totals().complete) << "what the batch held is there";
  EXPECT_GT(again.totals().learned, before);
}

TEST(OwnLabelsOfADevice, MayBeSeveralOfWhichSomeAreMissing) {
  ForecastSettings settings = Together();
  settings.labels.push_back({"z", ""});
  settings.targets = {2, 3};
  Mill mill(settings);
  std::vector<double> z;
  mill.on_forecast = [&](const Forecast& made) { z.push_back(made.predictions[1].baseline); };
  for (const std::vector<double>& values : std::vector<std::vector<double>>{
           {1, 1, 5, kNone}, {1, 1, 6, 100}, {1, 1, 7, kNone}, {1, 1, 8, 102}, {1, 1, kNone, 103}})
    ASSERT_EQ(mill.Send(values), Refusal::kNone);
  EXPECT_TRUE(std::isnan(z[0]) && std::isnan(z[1]));
  EXPECT_EQ(std::vector<double>(z.begin() + 2, z.end()), (std::vector<double>{100, 100, 102}));
  mill.Learn();
  EXPECT_EQ(mill.learned, 4u);
}

TEST(OwnLabelsOfADevice, StayTheNaiveForecastAfterAGap) {
  ForecastSettings settings = Together();
  settings.max_gap = 2;
  Mill mill(settings);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(mill.Send({1, 2, 20.0 + i}), Refusal::kNone);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(mill.Send({kNone, 2, 40.0 + i}), Refusal::kNone);
  EXPECT_EQ(mill.totals().breaks, 1u);
  EXPECT_EQ(mill.totals().skipped, 1u);
  ASSERT_EQ(mill.Send({1, 2, 50}), Refusal::kNone);
  EXPECT_EQ(mill.last.baseline, 42) << "of a message that made no row";
  mill.Learn();
  EXPECT_EQ(mill.totals().learned + mill.totals().unlearned, mill.totals().complete);
  EXPECT_EQ(mill.learned, 1u);
}

TEST(OwnLabelsOfADevice, RaiseAnAlarmWithTheMessageThatHasThem) {
  using Condition = AlarmCondition;
  for (const bool outside : {false, true}) {
    ForecastSettings settings = Together();
    settings.quantiles = {0.1, 0.9};
    settings.alarm.emplace().when = {
        .quantity = Condition::Quantity::kValue,
        .compare = outside ? Condition::Compare::kOutside : Condition::Compare::kGreater,
        .limit = 100};
    Mill mill(settings);
    std::vector<AlarmChange> changes;
    std::vector<double> labels;
    mill.on_forecast = [&](const Forecast& made) {
      changes.push_back(made.alarm);
      labels.push_back(made.labels[0]);
    };
    Random random(2);
    for (int i = 0; i < 200; ++i) ASSERT_EQ(mill.Send({1, 2, random.Normal()}), Refusal::kNone);
    const auto before = std::ranges::count(changes, AlarmChange::kRaised);
    EXPECT_TRUE(outside ? before > 5 : before == 0) << before;
    ASSERT_EQ(mill.Send({1, 2, 0}), Refusal::kNone);
    ASSERT_EQ(mill.Send({1, 2, kNone}), Refusal::kNone);
    EXPECT_EQ(changes.back(), AlarmChange::kNone);
    ASSERT_EQ(mill.Send({1, 2, 101}), Refusal::kNone);
    EXPECT_EQ(changes.back(), AlarmChange::kRaised);
    EXPECT_EQ(labels.back(), 101);
    ASSERT_EQ(mill.Send({1, 2, kNone}), Refusal::kNone);
    EXPECT_EQ(changes.back(), AlarmChange::kNone);
    EXPECT_EQ(mill.forecaster.alarms(), 1u);
  }
}

TEST_P(OwnLabels, AreReplayedBesideNewOnes) {
  const ForecastSettings settings = Together();
  Mill mill(settings, LayerOf(GetParam()));
  mill.replay = std::make_unique<ReplayWindow>(
      TrajectoryLayout(SpecOf(settings, LayerOf(GetParam())), GetParam() ? 4 : 1), 50, 1);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(mill.Send({1.0 * i, 2, i % 3 == 0 ? kNone : 1.0 * i}), Refusal::kNone);
    mill.Learn();
  }
  EXPECT_EQ(mill.learned, 65u) << "of 66 labels the first has none before it";
  EXPECT_GT(mill.replay->drawn(), 50u);
}

TEST(OwnLabelsOfADevice, AreNotMissedByAStreamThatRefusesWhatIsNotWhole) {
  for (const bool y_is_a_field : {false, true}) {
    ForecastSettings settings = Together(4, y_is_a_field);
    settings.missing = ForecastSettings::Missing::kError;
    Mill mill(settings);
    EXPECT_EQ(mill.Send({1, 2, 3}), Refusal::kNone);
    EXPECT_EQ(mill.Send({1, 2, kNone}), Refusal::kNone);
    EXPECT_EQ(mill.Send({1, kNone, 3}), Refusal::kMissingField);
    EXPECT_EQ(mill.all.size(), y_is_a_field ? 1u : 2u);
  }
}

}  // namespace
}  // namespace murmurate
