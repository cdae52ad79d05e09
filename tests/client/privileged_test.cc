// A privileged observation as an agent records it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/client/workbench.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Three numbers and behind them two that only the learner sees; one of four choices.
ModelSpec PrivilegedSpec() {
  PolicyAndValue spec = SmallSpec();
  spec.spaces.privileged = Box({2});
  return spec;
}

std::vector<float> PrivilegedIn(std::span<const std::byte> rows, int t = 0) {
  std::vector<float> numbers(2);
  std::memcpy(numbers.data(), rows.data() + t * 20 + 12, 8);
  return numbers;
}

void Show(Workbench& bench, float one, float other) {
  const std::vector<float> numbers{one, other};
  ASSERT_TRUE(bench.agent->observation().TryObservePrivileged(numbers));
}

TEST(PrivilegedOfAgent, EachStepHasWhatWasShownLastBeforeIt) {
  Workbench bench(4, {}, PrivilegedSpec());
  bench.Publish(1);
  bench.Act(0);
  Show(bench, 1, 2), bench.Act(1);
  bench.Act(2);
  Show(bench, 3, 4), Show(bench, 5, 6), bench.Act(3);
  Show(bench, 7, 8), bench.Act(4);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  const std::span<const std::byte> rows = received.view.observation;
  EXPECT_THAT(PrivilegedIn(rows, 0), ElementsAre(0, 0));
  EXPECT_THAT(PrivilegedIn(rows, 1), ElementsAre(1, 2));
  EXPECT_THAT(PrivilegedIn(rows, 2), ElementsAre(1, 2));
  EXPECT_THAT(PrivilegedIn(rows, 3), ElementsAre(5, 6));
  EXPECT_THAT(PrivilegedIn(received.view.next_observation), ElementsAre(7, 8));
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(std::memcmp(rows.data() + 20 * t, bench.Observation(t).data(), 12), 0);
    EXPECT_NEAR(received.view.log_prob[t],
                LogProbabilities(bench.spec, SomeParameters(bench.spec, 1),
                                 bench.Observation(t))[received.view.action[t]],
                2e-5)
        << "the policy plays by the observation alone";
  }
}

TEST(PrivilegedOfAgent, AnEpisodeThatIsCutEndsWithWhatWasShownForItsEnd) {
  Workbench bench(4, {}, PrivilegedSpec());
  bench.Publish(1);
  Show(bench, 1, 2), bench.Act(0);
  Show(bench, 3, 4);
  bench.agent->End(kTruncated, bench.Observation(7));
  for (int step = 1; step < 5; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_THAT(PrivilegedIn(received.view.final_observation), ElementsAre(3, 4));
}

TEST(PrivilegedOfAgent, NumbersThatAreNotFiniteCostTheTrajectoryUntilOthersAreShown) {
  Workbench bench(4, {}, PrivilegedSpec());
  bench.Publish(1);
  Show(bench, 1, NAN);
  for (int step = 0; step < 6; ++step) bench.Act(step);
  EXPECT_EQ(bench.PopTrajectory().block, nullptr);
  std::string sentence;
  ASSERT_TRUE(bench.agent->shared().PopComplaint(&sentence));
  EXPECT_THAT(sentence, HasSubstr("in the privileged observation: "));
  Show(bench, 1, 2);
  for (int step = 0; step < 5; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_THAT(PrivilegedIn(received.view.observation), ElementsAre(1, 2));
}

TEST(PrivilegedOfAgent, WhatTheSpaceDoesNotHaveIsRefusedInWords) {
  Workbench with(4, {}, PrivilegedSpec()), without(4);
  const std::vector<float> three(3);
  EXPECT_FALSE(with.agent->observation().TryObservePrivileged(three));
  EXPECT_THAT(with.agent->observation().CheckPrivileged(three).message(),
              HasSubstr("privileged has 2 float in its space, but was shown 3 float"));
  EXPECT_THAT(with.agent->observation().CheckPrivileged({{"enemy", three}}).message(),
              HasSubstr("privileged has 2 float in its space"));
  EXPECT_FALSE(without.agent->observation().TryObservePrivileged(three));
  EXPECT_THAT(without.agent->observation().CheckPrivileged(three).message(),
              HasSubstr("state its space in AgentOptions::privileged"));
}

}  // namespace
}  // namespace murmurate
