#include "server/learn/returns.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "shared/core/random.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {
namespace {

using Row = std::array<float, 6>;

// Six steps with everything in them: a termination (1), a truncation whose final observation is
// worth 6 (3), and a cut at the end whose next observation is worth 2 (5). gamma = 1/2.
struct Example {
  Row ratio = {2.0f, 0.5f, 0.25f, 4.0f, 0.5f, 0.5f};
  Row reward = {1, 0, 2, 1, -1, 2};
  std::array<std::uint8_t, 6> flags = {kFirst, kTerminatedFlag, kFirst, kTruncatedFlag, kFirst, 0};
  Row value = {2, 1, 4, 2, 3, 1};
  Row next_value = {1, 99, 2, 6, 1, 2};  // 99: never read, the episode terminated
  Row target, advantage;

  void Run(const VtraceSettings& settings) {
    Row log_ratio;
    for (int i = 0; i < 6; ++i) log_ratio[i] = std::log(ratio[i]);
    Vtrace(settings, log_ratio, reward, flags, value, next_value, target, advantage);
  }
};

// By hand, from the last row up, L = lambda:
//   error  r + gamma V' - V:  -0.5, -1, -1, 2, -3.5, 2
//   v - V: 5: 0.5 * 2 = 1                      4: 0.5 * -3.5 + 0.5 L 0.5 * 1 = -1.75 + 0.25 L
//          3: 1 * 2 = 2 (traces cut)           2: 0.25 * -1 + 0.5 L 0.25 * 2 = -0.25 + 0.25 L
//          1: 0.5 * -1 = -0.5 (traces cut)     0: 1 * -0.5 + 0.5 L 1 * -0.5 = -0.5 - 0.25 L
//   A = error + 0.5 L (v' - V'), without rho
TEST(VtraceTest, HandWorkedNumbersWithAnotherBehaviourPolicy) {
  for (const float lambda : {0.0f, 0.8f, 1.0f}) {
    Example example;
    example.Run({.gamma = 0.5, .lambda = lambda});
    const Row correction = {-0.5f - 0.25f * lambda,  -0.5f, -0.25f + 0.25f * lambda, 2.0f,
                            -1.75f + 0.25f * lambda, 1.0f};
    const Row advantage = {-0.5f - 0.25f * lambda, -1.0f, -1.0f + lambda, 2.0f,
                           -3.5f + 0.5f * lambda,  2.0f};
    for (int i = 0; i < 6; ++i) {
      EXPECT_NEAR(example.target[i], example.value[i] + correction[i], 1e-6) << i << " " << lambda;
      EXPECT_NEAR(example.advantage[i], advantage[i], 1e-6) << i << " " << lambda;
    }
  }
}

TEST(VtraceTest, TruncationLevelsActOnTheirOwnWeights) {
  Example example;
  example.Run({.gamma = 0.5, .lambda = 1.0, .rho_bar = 3.0, .c_bar = 1.0});
  EXPECT_NEAR(example.target[0], 2.0 + 2.0 * -0.5 + 0.5 * -0.5, 1e-6);  // rho 2, c 1
  EXPECT_NEAR(example.target[3], 2.0 + 3.0 * 2.0, 1e-6);                // 4 cut to 3
  Example other;
  other.Run({.gamma = 0.5, .lambda = 1.0, .rho_bar = 1.0, .c_bar = 3.0});
  EXPECT_NEAR(other.target[0], 2.0 - 0.5 + 0.5 * 2.0 * -0.5, 1e-6);  // rho 1, c 2
}

/// GAE (Schulman et al. 2015) as its definition: A_t = sum_l (gamma lambda)^l delta_{t+l}, the sum
/// ending with the episode.
double Gae(double gamma, double lambda, std::size_t t, const std::vector<float>& reward,
           const std::vector<std::uint8_t>& flags, const std::vector<float>& value,
           const std::vector<float>& next_value) {
  double sum = 0.0, factor = 1.0;
  for (std::size_t i = t; i < reward.size(); ++i) {
    const bool terminated = flags[i] & kTerminatedFlag;
    const double next = terminated ? 0.0 : gamma * next_value[i];
    sum += factor * (reward[i] + next - value[i]);
    if (terminated || (flags[i] & kTruncatedFlag)) break;
    factor *= gamma * lambda;
  }
  return sum;
}

TEST(VtraceTest, UnderItsOwnPolicyItIsGae) {
  const std::size_t n = 200;
  Random random(5);
  std::vector<float> log_ratio(n, 0.0f), reward(n), value(n), next_value(n), target(n),
      advantage(n);
  std::vector<std::uint8_t> flags(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    reward[i] = random.Uniform() - 0.5f;
    value[i] = random.Uniform();
  }
  for (std::size_t i = 0; i < n; ++i) next_value[i] = i + 1 < n ? value[i + 1] : 0.7f;
  flags[40] = kTerminatedFlag;
  flags[90] = kTruncatedFlag;
  next_value[90] = -0.4f;
  for (const double lambda : {0.0, 0.8, 1.0}) {
    Vtrace({.gamma = 0.9, .lambda = lambda}, log_ratio, reward, flags, value, next_value, target,
           advantage);
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = Gae(0.9, lambda, i, reward, flags, value, next_value);
      ASSERT_NEAR(advantage[i], expected, 1e-6) << i;
      ASSERT_NEAR(target[i], value[i] + expected, 1e-6) << i;
    }
  }
}

TEST(VtraceTest, NothingCrossesTheEndOfAnEpisode) {
  Example plain, changed;
  changed.reward[4] = 1000.0f;
  changed.value[5] = -1000.0f;
  plain.Run({.gamma = 0.5});
  changed.Run({.gamma = 0.5});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(plain.target[i], changed.target[i]);
    EXPECT_EQ(plain.advantage[i], changed.advantage[i]);
  }
}

}  // namespace
}  // namespace murmurate
