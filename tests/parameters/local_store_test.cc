#include "server/parameters/local_store.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "server/parameters/optimizers.h"

namespace murmurate {
namespace {

// beta1 = beta2 = 1/2 keep the numbers short. With g = 1 at each step, m^ = v^ = 1.
AdamSettings ShortSettings() {
  return {.learning_rate = 0.0f, .beta1 = 0.5f, .beta2 = 0.5f, .epsilon = 0.0f};
}

std::unique_ptr<Adam> ShortAdam(std::size_t count) {
  return std::make_unique<Adam>(ShortSettings(), count);
}

TEST(LocalStoreTest, ThreeStepsOnPaper) {
  LocalStore store(ShortAdam(1), 0.0);
  std::array<float, 1> x = {1.0f}, gradient = {2.0f};
  // m = 1, v = 2; m^ = 2, v^ = 4; step 0.1 * 2 / 2
  store.Step(0.1, gradient, x);
  EXPECT_NEAR(x[0], 0.9, 1e-6);
  // m = 1.5, v = 3; m^ = 2, v^ = 4; the rate is this call's
  store.Step(0.2, gradient, x);
  EXPECT_NEAR(x[0], 0.7, 1e-6);
  // g = -4: m = 0.75 - 2 = -1.25, v = 1.5 + 8 = 9.5; / (1 - 1/8)
  gradient[0] = -4.0f;
  store.Step(0.1, gradient, x);
  EXPECT_NEAR(x[0], 0.7 + 0.1 * (1.25 / 0.875) / std::sqrt(9.5 / 0.875), 1e-6);
  EXPECT_EQ(store.updates(), 3u);
}

TEST(LocalStoreTest, ClipsByTheNormOverTheWholeBlock) {
  auto owned = ShortAdam(2);
  const Adam& adam = *owned;
  LocalStore store(std::move(owned), 0.5);
  std::array<float, 2> x = {0.0f, 0.0f};
  const std::array<float, 2> gradient = {3.0f, -4.0f};  // norm 5, so scaled to 0.3, -0.4
  EXPECT_NEAR(store.Step(0.0, gradient, x), 5.0, 1e-5);
  EXPECT_NEAR(adam.first()[0], 0.15, 1e-6);
  EXPECT_NEAR(adam.first()[1], -0.2, 1e-6);
  EXPECT_NEAR(adam.second()[0], 0.045, 1e-6);
  EXPECT_NEAR(adam.second()[1], 0.08, 1e-6);
}

TEST(LocalStoreTest, AGradientInsideTheLimitIsNotScaled) {
  auto owned = ShortAdam(2);
  const Adam& adam = *owned;
  LocalStore limited(std::move(owned), 5.0), unlimited(ShortAdam(2), 0.0);
  std::array<float, 2> x = {}, y = {};
  const std::array<float, 2> gradient = {3.0f, -4.0f};
  limited.Step(0.1, gradient, x);
  unlimited.Step(0.1, gradient, y);
  EXPECT_EQ(x, y);
  EXPECT_NEAR(adam.first()[0], 1.5, 1e-6);
}

TEST(LocalStoreTest, AGradientThatIsNotFiniteChangesNothing) {
  auto owned = ShortAdam(2);
  const Adam& adam = *owned;
  LocalStore store(std::move(owned), 0.5);
  std::array<float, 2> x = {1.0f, 2.0f};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::array<float, 2> gradient = {bad, 1.0f};
    EXPECT_FALSE(std::isfinite(store.Step(0.1, gradient, x)));
  }
  EXPECT_EQ(x, (std::array<float, 2>{1.0f, 2.0f}));
  EXPECT_EQ(store.updates(), 0u);
  EXPECT_EQ(adam.second()[1], 0.0f);
}

/// Every optimizer.
class OptimizerTest : public testing::TestWithParam<OptimizerSettings::Name> {};

TEST_P(OptimizerTest, ZeroGradientsLeavePaddingZero) {
  const OptimizerSettings settings{.name = GetParam()};
  LocalStore store(MakeOptimizer(settings, 16), 0.5);
  std::array<float, 16> x = {}, gradient = {};
  gradient[0] = 1.0f;
  for (int i = 0; i < 10; ++i) store.Step(0.1, gradient, x);
  EXPECT_NE(x[0], 0.0f);
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_EQ(x[i], 0.0f);
}

TEST_P(OptimizerTest, WhatWasSavedGoesOnBitForBit) {
  const OptimizerSettings settings{.name = GetParam()};
  const auto whole = MakeOptimizer(settings, 3), other = MakeOptimizer(settings, 3);
  std::array<float, 3> x = {1, 2, 3}, gradient = {0.5f, -1, 0};
  for (int i = 0; i < 3; ++i) {
    whole->Step(0.01f, 1.0f, gradient, x);
    whole->LookAhead(x);
  }
  SavedState state;
  whole->Save(StateWriter(&state, "optimizer"));
  ASSERT_TRUE(other->Load(StateReader(state, "optimizer")).ok());
  EXPECT_EQ(other->steps(), 3u);
  std::array<float, 3> y = x;
  gradient = {0.1f, 0.2f, -3};
  whole->Step(0.02f, 0.5f, gradient, x);
  other->Step(0.02f, 0.5f, gradient, y);
  whole->LookAhead(x);
  other->LookAhead(y);
  EXPECT_EQ(x, y);
  if (GetParam() == OptimizerSettings::Name::kSgd) return;  // it keeps nothing of their length
  EXPECT_FALSE(MakeOptimizer(settings, 4)->Load(StateReader(state, "optimizer")).ok());
}

std::string NameOf(const testing::TestParamInfo<OptimizerSettings::Name>& test) {
  constexpr const char* kNames[] = {"Adam", "RmsProp", "Sgd", "Momentum", "Adagrad"};
  return kNames[static_cast<int>(test.param)];
}

INSTANTIATE_TEST_SUITE_P(, OptimizerTest,
                         testing::Values(OptimizerSettings::Name::kAdam,
                                         OptimizerSettings::Name::kRmsProp,
                                         OptimizerSettings::Name::kSgd,
                                         OptimizerSettings::Name::kMomentum,
                                         OptimizerSettings::Name::kAdagrad),
                         NameOf);

// decay 1/2, epsilon 1/2, and a mean square that begins at 1.
TEST(RmsPropTest, ThreeStepsOnPaper) {
  RmsProp optimizer({.decay = 0.5f, .epsilon = 0.5f}, 1);
  std::array<float, 1> x = {1.0f}, gradient = {2.0f};
  // v = 0.5 + 0.5 * 4 = 2.5; 2 / sqrt(2.5 + 0.5)
  optimizer.Step(0.1f, 1.0f, gradient, x);
  EXPECT_NEAR(optimizer.square()[0], 2.5, 1e-6);
  EXPECT_NEAR(x[0], 1 - 0.2 / std::sqrt(3.0), 1e-6);
  // The gradient clipped to a half of it, g = 1: v = 1.25 + 0.5 = 1.75; 1 / sqrt(2.25) = 1 / 1.5
  optimizer.Step(0.3f, 0.5f, gradient, x);
  EXPECT_NEAR(x[0], 1 - 0.2 / std::sqrt(3.0) - 0.2, 1e-6);
  // g = -3: v = 0.875 + 4.5 = 5.375; 3 / sqrt(5.875)
  gradient[0] = -3.0f;
  optimizer.Step(0.1f, 1.0f, gradient, x);
  EXPECT_NEAR(x[0], 1 - 0.2 / std::sqrt(3.0) - 0.2 + 0.3 / std::sqrt(5.875), 1e-6);
  EXPECT_EQ(optimizer.steps(), 3u);
}

}  // namespace
}  // namespace murmurate
