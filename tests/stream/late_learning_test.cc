// What is learned of labels that come later, and what is saved of them.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/stream/lab.h"

namespace murmurate {
namespace {

class Learned : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, Learned, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "gru" : "mlp"); });

/// quality = 2 a - b + noise, and each label comes 1 to 40 rows after its sample, so that many
/// overtake others.
TEST_P(Learned, FromFieldsOfItsRowNearlyAsWellAsItCanBe) {
  Lab lab(Late(2, 64), GetParam() ? Gru(16) : Tanh(32));
  Random random(3);
  struct Due {
    std::string id;
    float quality;
  };
  std::vector<std::vector<Due>> due(20'100);
  double best = 0, mine = 0, naive = 0;
  for (int i = 0; i < 20'000; ++i) {
    const float a = static_cast<float>(random.Normal()), b = static_cast<float>(random.Normal());
    const float noise = 0.5f * static_cast<float>(random.Normal());
    const float quality = 2 * a - b + noise;
    const std::string id = "s" + std::to_string(i);
    ASSERT_EQ(lab.Sample(id, a, b), Refusal::kNone);
    if (i >= 15'000) {
      best += std::abs(noise);
      mine += std::abs(quality - lab.last.published);
      naive += std::abs(quality - lab.last.baseline);
    }
    due[static_cast<std::size_t>(i) + 1 + random.UniformInt(40)].push_back({id, quality});
    for (const Due& label : due[static_cast<std::size_t>(i)])
      ASSERT_EQ(lab.Label(label.id, label.quality), Refusal::kNone);
    lab.Learn();
  }
  std::printf("%.3f times the best possible error, naive %.2f times, skill %.2f\n", mine / best,
              naive / best, lab.totals().skill());
  EXPECT_LT(mine, 1.25 * best);
  EXPECT_LT(mine, 0.3 * naive);
  EXPECT_EQ(lab.totals().learned, lab.totals().complete);
  EXPECT_GT(lab.totals().complete, 19'900u);
}

/// Saves in the middle, with labels that wait, one in a batch, and rows whose labels have not come.
TEST_P(Learned, GoesOnFromWhatWasSavedAsIfItHadNeverStopped) {
  const ForecastSettings settings = Late(3, 16);
  const Layer layer = GetParam() ? Gru(8) : Tanh(8);
  Lab whole(settings, layer), again(settings, layer);
  const auto say = [](Lab& lab, int i) {
    const std::string device = "device " + std::to_string(i % 3);
    ASSERT_EQ(lab.Sample(std::to_string(i), std::sin(i * 0.3f), 1.0f * i, device), Refusal::kNone);
    if (i < 9 || i % 4 == 0) return;
    const int late = i - 3 * (i % 3);
    ASSERT_EQ(lab.Label(std::to_string(late), std::cos(late * 0.3f), device), Refusal::kNone) << i;
  };
  for (int i = 0; i < 120; ++i) {
    say(whole, i);
    if (i == 90) whole.Learn();
  }
  TrainingBatch batch(TrajectoryLayout(SpecOf(settings, layer), GetParam() ? 3 : 1), 1);
  ASSERT_TRUE(whole.forecaster.Fill(&batch));
  SavedState state;
  whole.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  again.SetClock(whole);
  again.forecaster.ApplyWeights(*whole.learner.MakeSnapshot());
  EXPECT_EQ(whole.Label("108", 0, "device 0"), Refusal::kNone);
  EXPECT_EQ(again.Label("108", 0, "device 0"), Refusal::kNone);
  EXPECT_EQ(whole.Label("111", 0, "device 0"), Refusal::kDuplicate);
  EXPECT_EQ(again.Label("111", 0, "device 0"), Refusal::kDuplicate);
  whole.all.clear(), again.all.clear();
  for (int i = 120; i < 160; ++i) say(whole, i), say(again, i);
  EXPECT_EQ(whole.all.size(), 40u);
  EXPECT_EQ(whole.all, again.all);
  EXPECT_EQ(whole.last.score.model, again.last.score.model);
  EXPECT_EQ(whole.totals().complete, again.totals().complete);
  EXPECT_EQ(whole.totals().model_error, again.totals().model_error);
  const std::uint64_t before = again.totals().learned;
  again.Learn();
  EXPECT_EQ(again.totals().learned + again.totals().unlearned, again.totals().complete);
  EXPECT_GT(again.totals().learned, before);
}

TEST(LateLabels, WhatABatchHoldsThatIsNotTrainedOnIsLearnedAgain) {
  const ForecastSettings settings = Late();
  Lab run(settings), again(settings);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(run.Sample(std::to_string(i), 0), Refusal::kNone);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(run.Label(std::to_string(5 - i), 1), Refusal::kNone);
  TrainingBatch batch(TrajectoryLayout(SpecOf(settings, Gru(8)), 4), 4);
  ASSERT_TRUE(run.forecaster.Fill(&batch));
  EXPECT_TRUE(run.forecaster.has_pairs()) << "two of the six";
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  again.Learn();
  EXPECT_EQ(again.learned, 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(again.Label(std::to_string(i), 1), Refusal::kDuplicate);
}

TEST(LateLabels, DamagedOrOfAnotherWindowAreRefusedInASentence) {
  Lab run(Late(4, 8)), other(Late(4, 9)), again(Late(4, 8));
  ASSERT_EQ(run.Sample("1", 0), Refusal::kNone);
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  const Status refused = other.forecaster.Load(StateReader(state, "stream"));
  EXPECT_NE(refused.message().find("label_window"), std::string::npos) << refused;
  std::vector<std::uint64_t> words(1 + 8 + 1);
  words[0] = 2;  // a label of row 1, which there is not
  StateWriter(&state, "stream").Words("labels", words);
  const Status damaged = again.forecaster.Load(StateReader(state, "stream"));
  EXPECT_EQ(damaged.code(), StatusCode::kInvalidData) << damaged;
}

}  // namespace
}  // namespace murmurate
