#include "server/parameters/hogwild_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "server/parameters/local_store.h"
#include "server/parameters/optimizers.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

ModelSpec Spec() {
  return *ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 1\naction discrete 2\ndense 4 tanh\n"
      "separate_value 1\nnormalize_observation 1\n");
}

/// A learner's replica, by hand.
struct Replica {
  explicit Replica(std::unique_ptr<ParameterStore> owned)
      : store(std::move(owned)), block(layout.total) {}

  std::span<float> trained() { return std::span<float>(block).first(layout.trained_count()); }
  float& At(const char* tensor) { return block[layout.Find(tensor).offset]; }
  /// A step along a gradient that is 0 but in its first two components.
  double Step(double rate, float a, float b) {
    AlignedFloats gradient(layout.trained_count());
    gradient[0] = a;
    gradient[1] = b;
    return store->Step(rate, gradient, trained());
  }
  /// As UpdateObservationStatistics would count them.
  void Count(float count, float mean, float variance) {
    const std::span<float> seen = store->ObservationsSeen(block);
    seen[layout.Find("statistics.observation.count").offset] = count;
    seen[layout.Find("statistics.observation.mean").offset] = mean;
    seen[layout.Find("statistics.observation.variance").offset] = variance;
  }

  const ParameterLayout layout{Spec()};
  std::unique_ptr<ParameterStore> store;
  AlignedFloats block;
};

std::unique_ptr<HogwildStore> First(bool locking = false, double max_grad_norm = 0.0) {
  return std::make_unique<HogwildStore>(HogwildSettings{2, locking}, Spec(), max_grad_norm);
}

class HogwildStoreTest : public testing::TestWithParam<bool> {};

TEST_P(HogwildStoreTest, EachSeesTheStepsOfTheOtherAfterItsOwn) {
  Replica one(First(GetParam())), other(one.store->SharedReplica());
  one.block[0] = other.block[0] = 1;
  one.block[1] = other.block[1] = 2;
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  ASSERT_TRUE(other.store->BeginBatch(other.block));
  EXPECT_EQ(one.Step(0.5, 2, 0), 2.0);  // (1 - 1, 2)
  EXPECT_EQ(one.block[0], 0.0f);
  EXPECT_EQ(other.block[0], 1.0f) << "until it steps";
  other.Step(0.5, 0, -2);  // (0, 2 + 1)
  EXPECT_EQ(other.block[0], 0.0f);
  EXPECT_EQ(other.block[1], 3.0f);
  EXPECT_EQ(one.block[1], 2.0f);
  one.store->EndBatch(one.block);
  EXPECT_EQ(one.block[1], 3.0f);
  EXPECT_EQ(one.store->updates(), 2u);
}

TEST_P(HogwildStoreTest, ClipsByTheNormOfTheWholeGradient) {
  Replica one(First(GetParam(), 0.5));
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  EXPECT_FLOAT_EQ(static_cast<float>(one.Step(1.0, 3, -4)), 5.0f);
  EXPECT_FLOAT_EQ(one.block[0], -0.3f);
  EXPECT_FLOAT_EQ(one.block[1], 0.4f);
}

TEST_P(HogwildStoreTest, AGradientThatIsNotFiniteChangesNothing) {
  Replica one(First(GetParam()));
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  EXPECT_FALSE(std::isfinite(one.Step(1.0, std::numeric_limits<float>::infinity(), 1)));
  one.store->EndBatch(one.block);
  EXPECT_EQ(one.block[1], 0.0f);
  EXPECT_EQ(one.store->updates(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Locking, HogwildStoreTest, testing::Bool());

TEST(HogwildStore, VersionsAreCountedOverAllThreads) {
  Replica one(First()), other(one.store->SharedReplica());
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  EXPECT_EQ(one.store->VersionBegun(7), 7u);
  ASSERT_TRUE(other.store->BeginBatch(other.block));
  other.store->EndBatch(other.block);
  EXPECT_EQ(other.store->VersionMade(7), 8u);
  one.store->EndBatch(one.block);
  EXPECT_EQ(one.store->VersionMade(7), 9u);
  other.store->Refresh(other.block);
  EXPECT_EQ(other.store->VersionBegun(8), 9u);
}

// Of 1, 2, 3 and of 5, 7, 9, 11: together 7 numbers, mean 38/7, and sum of squares 290, so variance
// 290/7 - (38/7)^2. Then once more 1, 2, 3: 10 numbers, sum 44, squares 304.
TEST(HogwildStore, WhatThreadsSeeIsAddedUpOnce) {
  Replica one(First()), other(one.store->SharedReplica());
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  ASSERT_TRUE(other.store->BeginBatch(other.block));
  one.Count(3, 2, 2.0f / 3);
  other.Count(4, 8, 5);
  one.store->EndBatch(one.block);
  EXPECT_EQ(one.At("statistics.observation.count"), 3.0f);
  other.store->EndBatch(other.block);
  EXPECT_EQ(other.At("statistics.observation.count"), 7.0f);
  EXPECT_FLOAT_EQ(other.At("statistics.observation.mean"), 38.0f / 7);
  EXPECT_FLOAT_EQ(other.At("statistics.observation.variance"),
                  static_cast<float>(290.0 / 7 - (38.0 / 7) * (38.0 / 7)));
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  EXPECT_EQ(one.At("statistics.observation.count"), 7.0f) << "a batch begins with those of all";
  one.Count(3, 2, 2.0f / 3);
  one.store->EndBatch(one.block);
  EXPECT_EQ(one.At("statistics.observation.count"), 10.0f);
  EXPECT_FLOAT_EQ(one.At("statistics.observation.variance"), 30.4f - 4.4f * 4.4f);
}

TEST(HogwildStore, SavesTheStepsOfAllAsSgdDoes) {
  Replica one(First()), other(one.store->SharedReplica());
  ASSERT_TRUE(one.store->BeginBatch(one.block));
  ASSERT_TRUE(other.store->BeginBatch(other.block));
  one.Step(0.1, 1, 1);
  other.Step(0.1, 1, 1);
  other.Step(0.1, 1, 1);
  SavedState state;
  one.store->Save(StateWriter(&state, "optimizer"));
  Sgd sgd({});
  ASSERT_TRUE(sgd.Load(StateReader(state, "optimizer")).ok());
  EXPECT_EQ(sgd.steps(), 3u);
  const auto again = First();
  ASSERT_TRUE(again->Load(StateReader(state, "optimizer")).ok());
  EXPECT_EQ(again->updates(), 3u);
  EXPECT_FALSE(again->Load(StateReader({}, "optimizer")).ok());
}

/// Steps of powers of two are exact, so one that is lost shows.
TEST(HogwildStore, ThreadsLoseNoStep) {
  constexpr int kSteps = 4000;
  for (const bool locking : {false, true}) {
    Replica one(First(locking)), other(one.store->SharedReplica());
    const auto work = [](Replica* replica) {
      (void)replica->store->BeginBatch(replica->block);
      for (int i = 0; i < kSteps; ++i) replica->Step(0.5, -2, 4);
      replica->store->EndBatch(replica->block);
    };
    std::thread first(work, &one), second(work, &other);
    first.join();
    second.join();
    other.store->Refresh(other.block);
    EXPECT_EQ(other.block[0], 2.0f * kSteps) << locking;
    EXPECT_EQ(other.block[1], -4.0f * kSteps) << locking;
    EXPECT_EQ(other.store->VersionBegun(0), 2u);
  }
}

}  // namespace
}  // namespace murmurate
