// What Forecaster keeps of its devices: pairs that wait, what it saves, how much memory that takes.
#include <gtest/gtest.h>

#include "server/stream/forecaster.h"
#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

Layer Lstm(int units) { return {.units = units, .kind = Layer::Kind::kLstm}; }
Layer Gru(int units) { return {.units = units, .kind = Layer::Kind::kGru}; }
TEST(Pairs, ThatNobodyHasTimeForAreCountedAndLearnedTogetherWhileTheyAreInTheWindow) {
  const ForecastSettings settings = OneField(8);
  Forecasting run(settings, SpecOf(settings, Gru(8)));
  for (int i = 0; i < 21; ++i) ASSERT_EQ(run.Say("a", {1.0f * i}, i), Refusal::kNone);
  run.Learn();
  const auto& totals = run.forecaster.totals();
  EXPECT_EQ(totals.complete, 20u);
  EXPECT_EQ(totals.learned, 8u);
  EXPECT_EQ(totals.unlearned, 12u);
  EXPECT_EQ(run.learner.version(), 2u) << "in one step";
}

TEST(Pairs, OfAFrozenStreamAreNone) {
  ForecastSettings settings = OneField(8);
  settings.learn = false;
  Forecasting run(settings, SpecOf(settings, Gru(8)));
  for (int i = 0; i < 21; ++i) ASSERT_EQ(run.Say("a", {1.0f * i}, i), Refusal::kNone);
  EXPECT_FALSE(run.forecaster.has_pairs());
}

TEST(Saved, WhatABatchHoldsThatIsNotTrainedOnIsLearnedAgain) {
  const ForecastSettings settings = OneField(8);
  const ModelSpec spec = SpecOf(settings, Gru(8));
  Forecasting run(settings, spec), again(settings, spec);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(run.Say("a", {1.0f * i}, i), Refusal::kNone);
  run.forecaster.Predict();
  TrainingBatch batch(TrajectoryLayout(spec, 8), 4);
  ASSERT_TRUE(run.forecaster.Fill(&batch));
  EXPECT_FALSE(run.forecaster.has_pairs());
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  again.Learn();
  EXPECT_EQ(again.learned, 5u);
}

/// Six rows, all five pairs in a batch; one held row, a break, and four rows of a new beginning.

TEST(Saved, PairsFromBeforeABreakCountAsUnlearned) {
  ForecastSettings settings = OneField(8);
  settings.missing = ForecastSettings::Missing::kHold;
  settings.max_gap = 1;
  const ModelSpec spec = SpecOf(settings, Gru(8));
  Forecasting run(settings, spec), again(settings, spec);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(run.Say("a", {1.0f * i}, i), Refusal::kNone);
  run.forecaster.Predict();
  TrainingBatch batch(TrajectoryLayout(spec, 8), 4);
  ASSERT_TRUE(run.forecaster.Fill(&batch));
  for (int i = 6; i < 8; ++i) ASSERT_EQ(run.Say("a", {std::nanf("")}, i), Refusal::kNone);
  EXPECT_EQ(run.forecaster.totals().breaks, 1u);
  EXPECT_EQ(run.forecaster.totals().unlearned, 1u) << "the held row's";
  for (int i = 8; i < 12; ++i) ASSERT_EQ(run.Say("a", {1.0f * i}, i), Refusal::kNone);
  run.forecaster.Predict();
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  again.Learn();
  EXPECT_EQ(again.forecaster.totals().complete, 9u);
  EXPECT_EQ(again.forecaster.totals().learned, 3u);
  EXPECT_EQ(again.forecaster.totals().unlearned, 6u);
}

TEST(Saved, PairsOfAForgottenDeviceCountAsUnlearned) {
  ForecastSettings settings = OneField(8);
  settings.max_devices = 1;
  settings.forget_after_s = 100;
  const ModelSpec spec = SpecOf(settings, Gru(8));
  Forecasting run(settings, spec), again(settings, spec);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run.Say("a", {1.0f * i}, i), Refusal::kNone);
  ASSERT_EQ(run.Say("b", {1.0f}, 200), Refusal::kNone);
  run.forecaster.Predict();
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  EXPECT_FALSE(again.forecaster.has_pairs());
  EXPECT_EQ(again.forecaster.totals().complete, 2u);
  EXPECT_EQ(again.forecaster.totals().unlearned, 2u);
}

TEST(Saved, OfOtherSettingsIsRefusedInASentence) {
  const ForecastSettings settings = OneField(8), other = OneField(9);
  Forecasting run(settings, SpecOf(settings, Gru(8))), again(other, SpecOf(other, Gru(8)));
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  const Status status = again.forecaster.Load(StateReader(state, "stream"));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("window"), std::string::npos);
}

/// 176 bytes are for the numbers of messages.
TEST(ADevice, TakesItsStateItsWindowAndLessThanOneAndAQuarterKibibytes) {
  ForecastSettings settings = OneField(20);
  settings.fields.resize(3);
  const ModelSpec spec = SpecOf(settings, Lstm(64));
  Forecasting run(settings, spec);
  const std::size_t state = 2 * 64 * sizeof(float);
  const std::size_t window = 21 * static_cast<std::size_t>(InputsOf(settings)) * sizeof(float);
  EXPECT_LT(run.forecaster.bytes_per_device(), state + window + 1280);
}

}  // namespace
}  // namespace murmurate
