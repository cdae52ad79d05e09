// Rewards that nobody can learn from: what they cost, and that it is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "client/agent_core.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(AgentCore, RewardsThatAreNotFiniteDropTheTrajectoryAndSpoilOnlyTheirEpisode) {
  for (const double bad : {std::nan(""), kInfinity, 1e300}) {
    Workbench bench(2);
    bench.Publish(1);
    bench.Act(0);
    bench.agent->Reward(bad);
    bench.agent->End(kTerminated, {});
    EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), 1u);
    EXPECT_EQ(bench.agent->shared().counts().rewards_not_finite.load(), 1u);
    bench.Act(1), bench.agent->Reward(2), bench.Act(2), bench.agent->Reward(3);
    bench.agent->End(kTerminated, {});
    const auto received = bench.PopTrajectory();
    ASSERT_NE(received.block, nullptr);
    ASSERT_EQ(received.view.episodes.size(), 1u);
    EXPECT_EQ(received.view.episodes[0].raw_return, 5.0);
  }
}

TEST(AgentCore, ARewardThatIsNotFiniteIsSaidOnceWithItsValueAndEachIsCounted) {
  const std::pair<double, const char*> bad[] = {
      {std::nan(""), "come to nan,"}, {-kInfinity, "come to -inf,"}, {1e300, "come to 1e+300,"}};
  for (const auto& [reward, words] : bad) {
    Workbench bench(4);
    bench.Publish(1);
    for (int step = 0; step < 3; ++step) bench.Act(step), bench.agent->Reward(reward);
    std::string sentence;
    ASSERT_TRUE(bench.agent->shared().PopComplaint(&sentence));
    EXPECT_THAT(sentence, HasSubstr(words));
    EXPECT_THAT(sentence, HasSubstr("give Reward smaller numbers"));
    EXPECT_FALSE(bench.agent->shared().PopComplaint(&sentence));
    EXPECT_EQ(bench.agent->shared().counts().rewards_not_finite.load(), 3u);
  }
}

TEST(AgentCore, WhoNeverEndsAnEpisodeIsToldOnceAModelAndWhoEndsOneIsNot) {
  Workbench bench(4);
  bench.Publish(1);
  std::string sentence;
  const auto play = [&](std::uint32_t steps) {
    for (std::uint32_t step = 0; step < steps; ++step) bench.Act(0), bench.agent->Reward(1);
  };
  play(AgentTroubles::kStepsWithoutEnd - 1);
  EXPECT_FALSE(bench.agent->shared().PopComplaint(&sentence));
  play(1);
  ASSERT_TRUE(bench.agent->shared().PopComplaint(&sentence));
  EXPECT_THAT(sentence, HasSubstr("no episode has ended in its first 10000 steps: call End"));
  EXPECT_TRUE(bench.agent->shared().troubles().noted(Trouble::kNoEnd));
  play(2 * AgentTroubles::kStepsWithoutEnd);
  EXPECT_FALSE(bench.agent->shared().PopComplaint(&sentence));
  bench.agent->End(kTerminated);
  EXPECT_FALSE(bench.agent->shared().troubles().noted(Trouble::kNoEnd));

  Workbench other(4);
  other.Publish(1);
  other.Act(0), other.agent->End(kTerminated);
  for (std::uint32_t step = 0; step < 2 * AgentTroubles::kStepsWithoutEnd; ++step) other.Act(0);
  EXPECT_FALSE(other.agent->shared().PopComplaint(&sentence)) << sentence;
}

TEST(AgentCore, TwoRewardsOfAStepThatAddUpToTooMuchAreAsOne) {
  Workbench bench(4);
  bench.Publish(1);
  bench.Act(0), bench.agent->Reward(3e38), bench.agent->Reward(3e38);
  std::string sentence;
  ASSERT_TRUE(bench.agent->shared().PopComplaint(&sentence));
  EXPECT_THAT(sentence, HasSubstr("come to 6e+38,"));
}

}  // namespace
}  // namespace murmurate
