#include <gtest/gtest.h>

#include "server/operate/progress.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TrainingUpdate Update(std::uint64_t steps, double raw_return) {
  TrainingUpdate update;
  update.steps = {.learned = steps - 50, .taken = steps};
  update.metrics.Set(kDroppedSteps, static_cast<double>(steps / 10));
  update.metrics.Set(kLateSteps, 7);
  update.metrics.Set(kTrainedSteps, 100);
  update.metrics.Set(kUpdates, 8);
  update.metrics.Set(kVersion, static_cast<double>(steps / 100 + 1));
  update.episodes = {{raw_return, 20, 0}};
  return update;
}

TEST(ProgressState, GoesOnWithItsCountersItsWindowAndItsTime) {
  Progress whole(0), first(0);
  for (int i = 1; i <= 60; ++i) {
    whole.Apply(Update(static_cast<std::uint64_t>(100 * i), i));
    first.Apply(Update(static_cast<std::uint64_t>(100 * i), i));
  }
  SavedState state;
  first.Save(40 * kSecond, StateWriter(&state, "progress"));
  Progress second(1000 * kSecond);  // another boot: another clock
  ASSERT_TRUE(second.Load(StateReader(state, "progress"), 5950).ok());
  EXPECT_EQ(second.steps(), 6000u);
  EXPECT_EQ(second.learned_steps(), 5950u) << "the checkpoint's number";
  EXPECT_EQ(second.values().Count(kVersion), 61u);
  EXPECT_DOUBLE_EQ(second.elapsed_s(1002 * kSecond), 42.0);
  for (int i = 61; i <= 130; ++i) {
    whole.Apply(Update(static_cast<std::uint64_t>(100 * i), i));
    second.Apply(Update(static_cast<std::uint64_t>(100 * i), i));
  }
  EXPECT_EQ(second.means().mean_return(), whole.means().mean_return());
  EXPECT_DOUBLE_EQ(*second.means().mean_return(), (31 + 130) / 2.0) << "the last 100 of both lives";
  EXPECT_EQ(second.means().mean_length(), whole.means().mean_length());
  EXPECT_EQ(second.means().episodes(), 130u);
  EXPECT_EQ(second.values().Count(kTrainedSteps), 13000u);
  EXPECT_EQ(second.values().Count(kUpdates), 1040u);
  EXPECT_EQ(second.values().Count(kDroppedSteps), 1300u);
  EXPECT_EQ(second.values().Count(kLateSteps), 910u) << "seven a batch, of both lives";
}

TEST(ProgressState, WithoutOneOfItsNamesItIsRefused) {
  Progress progress(0);
  progress.Apply(Update(100, 1.0));
  SavedState state;
  progress.Save(0, StateWriter(&state, "progress"));
  state.words.erase("progress.window_lengths");
  Progress other(0);
  EXPECT_EQ(other.Load(StateReader(state, "progress"), 50).code(), StatusCode::kInvalidData);
}

}  // namespace
}  // namespace murmurate
