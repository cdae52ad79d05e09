#include "server/replay/rate_limiter.h"

#include <gtest/gtest.h>

#include "shared/core/random.h"

namespace murmurate {
namespace {

ReplaySettings Settings(double samples_per_insert, int minibatch, int most_updates,
                        std::uint64_t starts) {
  return {.minibatch = minibatch,
          .samples_per_insert = samples_per_insert,
          .learning_starts = starts,
          .most_updates = most_updates};
}

/// Inserts of any size, and updates whenever someone asks and some are due: never more samples than
/// the inserts after the first 1,000 allow, and after a learner that took all, less than one update
/// is due.
TEST(RateLimiter, AMillionRandomRequestsStayInTheBand) {
  for (const double ratio : {0.3, 8.0, 31.7}) {
    RateLimiter limiter(Settings(ratio, 64, 8, 1000));
    Random random(9);
    double inserts = 0, samples = 0;
    for (int i = 0; i < 333'334; ++i) {
      if (random.UniformInt(3) == 0) {
        const std::uint64_t steps = random.UniformInt(300);
        limiter.Inserted(steps);
        inserts += static_cast<double>(steps);
      } else {
        const int updates = limiter.UpdatesDue();
        ASSERT_LE(updates, 8);
        limiter.Given(updates);
        samples += 64.0 * updates;
      }
      const double allowed = std::max(0.0, inserts - 1000.0) * ratio;
      ASSERT_LE(samples, allowed * (1 + 1e-12));
      ASSERT_NEAR(limiter.due(), allowed - samples, 1e-6 * (1.0 + allowed));
      if (i % 100 != 0) continue;
      while (const int updates = limiter.UpdatesDue()) {
        limiter.Given(updates);
        samples += 64.0 * updates;
      }
      ASSERT_LT(limiter.due(), 64.0);
    }
    EXPECT_GT(samples, 1e6 * ratio);
  }
}

TEST(RateLimiter, CountsNoSamplesForWhatCameBeforeLearningStarts) {
  RateLimiter limiter(Settings(32, 128, 8, 1000));
  limiter.Inserted(640);
  EXPECT_EQ(limiter.UpdatesDue(), 0);
  EXPECT_EQ(limiter.Waiting(), "collects 640 of 1,000 steps before it learns");
  limiter.Inserted(360);
  EXPECT_EQ(limiter.UpdatesDue(), 0);
  limiter.Inserted(4);
  EXPECT_EQ(limiter.UpdatesDue(), 1);
  EXPECT_EQ(limiter.Waiting(), "");
}

TEST(RateLimiter, SaysHowMuchOfWhatIsAllowedIsUsed) {
  RateLimiter limiter(Settings(1, 128, 1000, 1000));
  limiter.Inserted(1000);
  limiter.Inserted(12'288 + 127);
  limiter.Given(limiter.UpdatesDue());
  EXPECT_EQ(limiter.Waiting(),
            "learner waits for experience: 0.98 of the samples that 12,415 inserts allow are used");
}

TEST(RateLimiter, ASequenceCountsAsAllOfItsSteps) {
  ReplaySettings settings = Settings(2, 4, 8, 0);
  settings.sequence = 10;
  RateLimiter limiter(settings);
  limiter.Inserted(39);
  EXPECT_EQ(limiter.UpdatesDue(), 1);
  limiter.Inserted(1);
  EXPECT_EQ(limiter.UpdatesDue(), 2);
}

TEST(RateLimiter, WhatIsGivenBackIsDueAgain) {
  RateLimiter limiter(Settings(32, 128, 8, 0));
  limiter.Inserted(8);
  EXPECT_EQ(limiter.UpdatesDue(), 2);
  limiter.Given(2);
  EXPECT_EQ(limiter.UpdatesDue(), 0);
  limiter.GivenBack(2);
  EXPECT_EQ(limiter.UpdatesDue(), 2);
}

TEST(RateLimiter, ARunThatGoesOnCollectsAnewAndMakesAllUpdates) {
  RateLimiter limiter(Settings(1, 10, 8, 50));
  limiter.Inserted(50 + 37);
  limiter.Given(2);
  SavedState saved;
  limiter.Save(StateWriter(&saved, "store"));
  RateLimiter resumed(Settings(1, 10, 8, 50));
  ASSERT_TRUE(resumed.Load(StateReader(saved, "store"), false).ok());
  EXPECT_EQ(resumed.due(), 17.0);
  resumed.Inserted(49);
  EXPECT_EQ(resumed.UpdatesDue(), 0);
  resumed.Inserted(1 + 3);
  EXPECT_EQ(resumed.UpdatesDue(), 2);
  ASSERT_TRUE(resumed.Load(StateReader(saved, "store"), true).ok());
  EXPECT_EQ(resumed.UpdatesDue(), 1) << "its replay is filled";
}

}  // namespace
}  // namespace murmurate
