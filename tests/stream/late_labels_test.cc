// Forecaster where labels come later: what they are scored against, learned from, and joined by.
#include <gtest/gtest.h>

#include <bit>

#include "tests/stream/lab.h"

namespace murmurate {
namespace {

TEST(LateLabels, AreScoredAgainstWhatWasKnownWhenTheirRowCame) {
  ForecastSettings settings = Late();
  settings.learn = false;
  Lab lab(settings);
  ASSERT_EQ(lab.Sample("1", 0), Refusal::kNone);
  EXPECT_TRUE(std::isnan(lab.last.baseline)) << "no label is known";
  ASSERT_EQ(lab.Sample("2", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("1", 10), Refusal::kNone);
  EXPECT_EQ(lab.ScoreNow().count, 0) << "nothing was forecast at row 1";
  EXPECT_EQ(lab.last.baseline, 10);
  ASSERT_EQ(lab.Sample("3", 0), Refusal::kNone);
  ASSERT_EQ(lab.Sample("4", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("3", 13), Refusal::kNone);  // 10 was forecast: 3 away
  EXPECT_EQ(lab.ScoreNow().baseline, 3);
  EXPECT_EQ(lab.last.baseline, 13);
  ASSERT_EQ(lab.Label("4", 11), Refusal::kNone);  // 10 was forecast there, too: 1 away
  EXPECT_EQ(lab.ScoreNow().baseline, 2);
  EXPECT_EQ(lab.last.baseline, 11);
  EXPECT_EQ(lab.last.score.count, 2);
  ASSERT_EQ(lab.Label("2", 99), Refusal::kNone);  // nothing was forecast at row 2
  EXPECT_EQ(lab.ScoreNow().count, 2);
  EXPECT_EQ(lab.last.baseline, 11) << "the label of a newer row than 2 is known";
}

TEST(LateLabels, ThatComeInTheRoundOfTheirSampleFindItsForecastMade) {
  Lab lab(Late());
  ASSERT_EQ(lab.Sample("1", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("1", 10), Refusal::kNone);
  murmurate::Sample sample;
  sample.device = "pump";
  sample.id = "2";
  sample.values = {0, 0};
  sample.time_ns = 1'800'000'000 * kNanosecondsPerSecond;
  ASSERT_EQ(lab.forecaster.Consume(sample, sample.time_ns), Refusal::kNone);
  EXPECT_EQ(lab.all.size(), 1u) << "it is due";
  ASSERT_EQ(lab.Label("2", 12), Refusal::kNone);
  ASSERT_EQ(lab.all.size(), 2u);
  EXPECT_EQ(lab.last.baseline, 10);
  EXPECT_NEAR(lab.totals().baseline_error, 1, 1e-6) << "a first error of 2 is one usual error";
  lab.forecaster.Predict();
  EXPECT_EQ(lab.all.size(), 2u) << "once";
}

TEST(LateLabels, OfEachDeviceAreItsOwn) {
  Lab lab(Late());
  ASSERT_EQ(lab.Sample("1", 0, 0, "pump"), Refusal::kNone);
  ASSERT_EQ(lab.Sample("1", 0, 0, "fan"), Refusal::kNone);
  ASSERT_EQ(lab.Label("1", 5, "fan"), Refusal::kNone);
  ASSERT_EQ(lab.Sample("2", 0, 0, "pump"), Refusal::kNone);
  EXPECT_TRUE(std::isnan(lab.last.baseline));
  ASSERT_EQ(lab.Sample("2", 0, 0, "fan"), Refusal::kNone);
  EXPECT_EQ(lab.last.baseline, 5);
}

TEST(LateLabels, ComeInAnyOrderAndEachIsLearnedOnce) {
  Lab lab(Late(4, 64));
  for (int i = 0; i < 40; ++i) ASSERT_EQ(lab.Sample(std::to_string(i), 1.0f * i), Refusal::kNone);
  for (int i = 0; i < 40; ++i) {
    const int row = i * 17 % 40;
    ASSERT_EQ(lab.Label(std::to_string(row), 1), Refusal::kNone) << row;
    EXPECT_EQ(lab.Label(std::to_string(row), 1), Refusal::kDuplicate) << "it waits";
    if (i % 3 == 0) lab.Learn();
    EXPECT_EQ(lab.Label(std::to_string(row), 1), Refusal::kDuplicate) << "it is learned";
  }
  lab.Learn();
  EXPECT_EQ(lab.totals().complete, 40u);
  EXPECT_EQ(lab.totals().learned, 40u);
  EXPECT_EQ(lab.totals().unlearned, 0u);
  EXPECT_EQ(lab.totals().rows, 40u) << "a label is no row";
}

TEST(LateLabels, OfSamplesThatAreNotKeptAreRefused) {
  Lab lab(Late(4, 8));
  EXPECT_EQ(lab.Label("1", 0), Refusal::kUnknownId) << "no such device";
  EXPECT_EQ(lab.forecaster.devices(), 0u);
  for (int i = 0; i < 9; ++i) ASSERT_EQ(lab.Sample(std::to_string(i), 0), Refusal::kNone);
  EXPECT_EQ(lab.Label("9", 0), Refusal::kUnknownId) << "never seen";
  EXPECT_EQ(lab.Label("0", 0), Refusal::kUnknownId) << "8 rows came after it";
  EXPECT_EQ(lab.Label("1", 0), Refusal::kNone);
  EXPECT_EQ(lab.Label("", 0), Refusal::kNoId);
  EXPECT_EQ(lab.Label("2", std::nanf("")), Refusal::kMissingField);
  EXPECT_EQ(lab.Label("2", 3), Refusal::kNone) << "what was refused may come again";
  EXPECT_EQ(lab.totals().complete, 2u);
}

TEST(LateLabels, SamplesNeedAnIdThatNoneKeptHas) {
  Lab lab(Late(4, 2));
  EXPECT_EQ(lab.Sample("", 0), Refusal::kNoId);
  EXPECT_EQ(lab.Sample("1", 0), Refusal::kNone);
  EXPECT_EQ(lab.Sample("1", 0), Refusal::kDuplicate);
  EXPECT_EQ(lab.Sample("2", 0), Refusal::kNone);
  EXPECT_EQ(lab.Sample("3", 0), Refusal::kNone);
  EXPECT_EQ(lab.Sample("1", 0), Refusal::kNone) << "the first one is no longer kept";
  EXPECT_EQ(lab.totals().rows, 4u);
}

TEST(LateLabels, ThatNobodyHadTimeForLeaveWithTheirRowsAndAreCounted) {
  Lab lab(Late(4, 8));
  for (int i = 0; i < 8; ++i) ASSERT_EQ(lab.Sample(std::to_string(i), 0), Refusal::kNone);
  for (int i = 0; i < 5; ++i) ASSERT_EQ(lab.Label(std::to_string(i), 0), Refusal::kNone);
  for (int i = 8; i < 11; ++i) ASSERT_EQ(lab.Sample(std::to_string(i), 0), Refusal::kNone);
  EXPECT_EQ(lab.totals().unlearned, 3u);
  lab.Learn();
  EXPECT_EQ(lab.totals().learned, 2u);
  EXPECT_EQ(lab.totals().complete, 5u);
}

/// What a batch holds is the window of the label's row, of which the last row alone is learned.
TEST(LateLabels, AreLearnedFromTheWindowOfTheirRow) {
  const ForecastSettings settings = Late(3, 8);
  Lab lab(settings);
  for (int i = 0; i < 7; ++i) ASSERT_EQ(lab.Sample(std::to_string(i), 1.0f * i), Refusal::kNone);
  ASSERT_EQ(lab.Label("0", 4), Refusal::kNone);
  ASSERT_EQ(lab.Label("6", 4), Refusal::kNone);
  ASSERT_EQ(lab.Sample("7", 7), Refusal::kNone);  // at which 4 is the naive forecast
  ASSERT_EQ(lab.Label("7", 6), Refusal::kNone);   // 2 away, which is one usual error
  TrainingBatch batch(TrajectoryLayout(SpecOf(settings, Gru(8)), 3), 4);
  ASSERT_TRUE(lab.forecaster.Fill(&batch));
  ASSERT_EQ(batch.trajectories.size(), 3u);
  EXPECT_EQ(batch.trajectories[0].steps, 1) << "there is none before row 0";
  EXPECT_EQ(batch.trajectories[1].steps, 3);
  EXPECT_EQ(batch.trajectories[1].first_step, 4u);
  EXPECT_EQ(batch.trajectories[2].first_step, 5u);
  EXPECT_EQ(batch.weight[0], 0) << "nothing was forecast at row 0";
  const std::vector<float> weights(batch.weight.begin() + 6, batch.weight.begin() + 9);
  EXPECT_EQ(weights, (std::vector<float>{0, 0, 1}));
  EXPECT_EQ(std::bit_cast<float>(batch.action[8]), 1.0f);
  lab.learner.Learn(batch, 0);
  EXPECT_EQ(lab.forecaster.OnTrained(), 3u);
}

TEST(LateLabels, TellTheModelTheLastOneThatWasKnown) {
  const ForecastSettings settings = Late(1, 8);
  EXPECT_EQ(InputsOf(settings), 2 * 2 + 1 + 1);
  Lab lab(settings, Tanh(4));
  ASSERT_EQ(lab.Sample("0", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("0", 4), Refusal::kNone);
  ASSERT_EQ(lab.Sample("1", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("1", 8), Refusal::kNone);   // off by 4, the usual error; 6 is their mean
  ASSERT_EQ(lab.Sample("2", 0), Refusal::kNone);  // 8 is known: half a usual error above 6
  ASSERT_EQ(lab.Label("2", 8), Refusal::kNone);
  TrainingBatch batch(TrajectoryLayout(SpecOf(settings, Tanh(4)), 1), 4);
  ASSERT_TRUE(lab.forecaster.Fill(&batch));
  EXPECT_EQ(batch.observation[0 * 6 + 5], 0.0f);
  EXPECT_EQ(batch.observation[1 * 6 + 5], 0.0f) << "4 is the mean of 4";
  EXPECT_EQ(batch.observation[2 * 6 + 5], 0.5f);
}

TEST(LateLabels, MissingValuesNeverBreakADevice) {
  ForecastSettings settings = Late(2, 8);
  settings.max_gap = 1;
  Lab lab(settings);
  const float none = std::nanf("");
  ASSERT_EQ(lab.Sample("1", 1), Refusal::kNone);
  for (const char* id : {"2", "3", "4"}) ASSERT_EQ(lab.Sample(id, none), Refusal::kNone);
  EXPECT_EQ(lab.totals().rows, 2u) << "1, and 2 of what was held";
  EXPECT_EQ(lab.totals().breaks, 0u);
  EXPECT_EQ(lab.Label("3", 1), Refusal::kUnknownId) << "nothing was forecast from it";
  EXPECT_EQ(lab.Label("1", 1), Refusal::kNone);
}

TEST(LateLabels, RaiseAlarmsOfWhatTheySaidLast) {
  ForecastSettings settings = Late();
  settings.alarm = AlarmSettings{*AlarmCondition::Parse("value > 5", {"quality"}, false), 1, {}};
  Lab lab(settings);
  std::vector<AlarmChange> changes;
  lab.on_forecast = [&](const Forecast& made) { changes.push_back(made.alarm); };
  ASSERT_EQ(lab.Sample("1", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("1", 6), Refusal::kNone);
  ASSERT_EQ(lab.Sample("2", 0), Refusal::kNone);
  ASSERT_EQ(lab.Sample("3", 0), Refusal::kNone);
  ASSERT_EQ(lab.Label("3", 5), Refusal::kNone);
  ASSERT_EQ(lab.Sample("4", 0), Refusal::kNone);
  using enum AlarmChange;
  EXPECT_EQ(changes, (std::vector{kNone, kRaised, kNone, kCleared}));
}

TEST(LateLabels, HaveIntervalsAndAlarmsOfWhatLiesOutsideOfThem) {
  ForecastSettings settings = Late(2, 8);
  settings.quantiles = {0.1, 0.9};
  settings.alarm = AlarmSettings{*AlarmCondition::Parse("value outside", {"quality"}, true), 1, {}};
  Lab lab(settings, Gru(8));
  Random random(5);
  int id = 0;
  AlarmChange change = AlarmChange::kNone;
  Score score;
  lab.on_forecast = [&](const Forecast& made) {
    change = made.alarm;
    score = made.predictions[0].score;
  };
  const auto pass = [&](float quality) {
    EXPECT_EQ(lab.Sample(std::to_string(++id), random.Normal()), Refusal::kNone);
    const AlarmChange before = change;
    EXPECT_EQ(lab.Label(std::to_string(id), quality), Refusal::kNone);
    lab.Learn();
    return before;
  };
  for (int i = 0; i < 10'000; ++i) pass(static_cast<float>(5 + random.Normal()));
  EXPECT_NEAR(score.inside, 0.8, 0.1) << "of the last 200";
  pass(5), pass(5);
  EXPECT_EQ(lab.forecaster.alarms(), 0u);
  pass(50);
  EXPECT_EQ(pass(5), AlarmChange::kRaised) << "as the next sample comes";
  EXPECT_EQ(lab.forecaster.alarms(), 1u);
}

TEST(LateLabels, OfSeveralTargetsComeTogether) {
  ForecastSettings settings = Late(2, 8);
  settings.labels.push_back({"hardness", ""});
  settings.targets = {2, 3};
  Lab lab(settings);
  std::vector<double> baselines;
  lab.on_forecast = [&](const Forecast& made) {
    baselines = {made.predictions[0].baseline, made.predictions[1].baseline};
  };
  ASSERT_EQ(lab.Sample("1", 0), Refusal::kNone);
  EXPECT_EQ(lab.Label("1", {3, std::nanf("")}), Refusal::kMissingField);
  EXPECT_EQ(lab.Label("1", {3, 7}), Refusal::kNone);
  ASSERT_EQ(lab.Sample("2", 0), Refusal::kNone);
  EXPECT_EQ(baselines, (std::vector<double>{3, 7}));
  EXPECT_EQ(lab.Label("2", {4, 9}), Refusal::kNone);
  EXPECT_EQ(lab.totals().scored, 2);
  EXPECT_EQ(lab.totals().complete, 2u) << "labels";
}

TEST(LateLabels, TakeMemoryThatIsStated) {
  const std::size_t few = Lab(Late(4, 8)).forecaster.bytes_per_device();
  const std::size_t many = Lab(Late(4, 108)).forecaster.bytes_per_device();
  // 6 inputs and by whom are floats, forecast, naive and label of a row doubles; an id of 8 bytes,
  // a state.
  EXPECT_EQ(many - few, 100u * (7 * 4 + 3 * 8 + 9));
}

TEST(LabelSlots, KnowTheSampleByItsIdAlone) {
  EXPECT_EQ(LabelSlots::HashOf("a"), 0xaf63dc4c8601ec8cu) << "as FNV-1a is published";
  EXPECT_NE(LabelSlots::HashOf("12"), LabelSlots::HashOf("21"));
  LabelSlots slots(2);
  EXPECT_FALSE(slots.Find(7, 0));
  EXPECT_EQ(slots.Begin(0, 7), LabelSlots::State::kEmpty);
  EXPECT_EQ(slots.Find(7, 1), 0u);
  slots.Set(0, LabelSlots::State::kWaiting);
  slots.Begin(1, 8);
  EXPECT_EQ(slots.OldestWaiting(2), 0u);
  EXPECT_EQ(slots.Begin(2, 9), LabelSlots::State::kWaiting) << "that is what row 0 was";
  EXPECT_FALSE(slots.Find(7, 3));
  EXPECT_EQ(slots.Find(8, 3), 1u);
  EXPECT_EQ(slots.Untaught(), 0u);
}

}  // namespace
}  // namespace murmurate
