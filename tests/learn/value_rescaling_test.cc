#include "server/learn/value_rescaling.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

TEST(ValueRescalingTest, IsTheRootThatTheFormulaSays) {
  EXPECT_EQ(Rescaled(0.0), 0.0);
  EXPECT_DOUBLE_EQ(Rescaled(3.0), 1.0 + 0.003);
  EXPECT_DOUBLE_EQ(Rescaled(-99.0), -9.0 - 0.099);
}

TEST(ValueRescalingTest, GoesBackOverEveryMagnitude) {
  for (const double value : {0.0, 1e-9, 1e-6, 1e-3, 0.3, 1.0, 17.0, 1e3, 1e6, 1e9})
    for (const double signed_value : {value, -value})
      EXPECT_NEAR(RescaledBack(Rescaled(signed_value)), signed_value, 1e-9 * value + 1e-12);
}

/// The inverse as the paper writes it.
TEST(ValueRescalingTest, GoesBackAsThePaperSays) {
  for (const double x : {0.5, 2.0, 40.0}) {
    const double root = (std::sqrt(1.0 + 4e-3 * (x + 1.0 + 1e-3)) - 1.0) / 2e-3;
    EXPECT_NEAR(RescaledBack(x), root * root - 1.0, 1e-8 * root * root);
  }
}

}  // namespace
}  // namespace murmurate
