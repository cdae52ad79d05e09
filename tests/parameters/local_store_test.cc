#include "server/parameters/local_store.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace murmurate {
namespace {

// beta1 = beta2 = 1/2 keep the numbers short. With g = 1 at each step, m^ = v^ = 1.
AdamSettings ShortSettings() {
  return {.learning_rate = 0.0f, .beta1 = 0.5f, .beta2 = 0.5f, .epsilon = 0.0f};
}

TEST(LocalStoreTest, ThreeStepsOnPaper) {
  LocalStore store(1, ShortSettings(), 0.0);
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
  AdamSettings settings = ShortSettings();
  LocalStore store(2, settings, 0.5);
  std::array<float, 2> x = {0.0f, 0.0f};
  const std::array<float, 2> gradient = {3.0f, -4.0f};  // norm 5, so scaled to 0.3, -0.4
  EXPECT_NEAR(store.Step(0.0, gradient, x), 5.0, 1e-5);
  EXPECT_NEAR(store.optimizer().first()[0], 0.15, 1e-6);
  EXPECT_NEAR(store.optimizer().first()[1], -0.2, 1e-6);
  EXPECT_NEAR(store.optimizer().second()[0], 0.045, 1e-6);
  EXPECT_NEAR(store.optimizer().second()[1], 0.08, 1e-6);
}

TEST(LocalStoreTest, AGradientInsideTheLimitIsNotScaled) {
  LocalStore limited(2, ShortSettings(), 5.0), unlimited(2, ShortSettings(), 0.0);
  std::array<float, 2> x = {}, y = {};
  const std::array<float, 2> gradient = {3.0f, -4.0f};
  limited.Step(0.1, gradient, x);
  unlimited.Step(0.1, gradient, y);
  EXPECT_EQ(x, y);
  EXPECT_NEAR(limited.optimizer().first()[0], 1.5, 1e-6);
}

TEST(LocalStoreTest, AGradientThatIsNotFiniteChangesNothing) {
  LocalStore store(2, ShortSettings(), 0.5);
  std::array<float, 2> x = {1.0f, 2.0f};
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::array<float, 2> gradient = {bad, 1.0f};
    EXPECT_FALSE(std::isfinite(store.Step(0.1, gradient, x)));
  }
  EXPECT_EQ(x, (std::array<float, 2>{1.0f, 2.0f}));
  EXPECT_EQ(store.updates(), 0u);
  EXPECT_EQ(store.optimizer().second()[1], 0.0f);
}

TEST(LocalStoreTest, ZeroGradientsLeavePaddingZero) {
  LocalStore store(16, {.learning_rate = 0.1f, .weight_decay = 0.01f}, 0.5);
  std::array<float, 16> x = {}, gradient = {};
  gradient[0] = 1.0f;
  for (int i = 0; i < 10; ++i) store.Step(0.1, gradient, x);
  EXPECT_NE(x[0], 0.0f);
  for (std::size_t i = 1; i < x.size(); ++i) EXPECT_EQ(x[i], 0.0f);
}

}  // namespace
}  // namespace murmurate
