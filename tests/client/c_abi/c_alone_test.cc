// A game in C plays on, or is told why not, while it has no learner, weights or credit.
#include "tests/client/c_abi/player.h"
#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

TEST(CAlone, AnAgentPlaysOnWhenItsClientIsClosed) {
  mmr_client* client = mmr_connect(FreshAddress().c_str(), nullptr);
  mmr_agent* agent = mmr_new_agent(client, mmr_box(3), mmr_discrete(4));
  EXPECT_EQ(mmr_close(client), MMR_OK);
  const float see[3] = {1, 2, 3};
  for (int i = 0; i < 100; ++i) EXPECT_GE(mmr_act(agent, see, 3), 0);
  EXPECT_EQ(mmr_agent_close(agent), MMR_OK);
}

TEST(CAlone, AWaitThatIsLimitedFailsHavingChangedNothingAndIsGoneOnWith) {
  mmr_client_options options = Options();
  options.pace = MMR_PACE_CREDIT;
  options.without_policy = MMR_WITHOUT_WAIT;
  options.max_wait_ms = 20;
  Stage stage({.trajectory_length = 4, .outstanding = 1, .batch = 1, .release = false}, options);
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  const float numbers[3] = {1, 2, 3};
  EXPECT_EQ(mmr_act(agent, numbers, 3), MMR_UNAVAILABLE) << "no weights";
  EXPECT_THAT(mmr_last_error(), HasSubstr("call again"));
  stage.Begin();
  for (int step = 1; step <= 4; ++step) {
    ASSERT_TRUE(
        Until([&] { stage.learner.PollOnce(0); }, [&] { return mmr_act(agent, numbers, 3) >= 0; }));
    EXPECT_EQ(mmr_reward(agent, step), MMR_OK);
  }
  const auto act = [&] {
    EXPECT_EQ(mmr_act(agent, numbers, 3), MMR_UNAVAILABLE) << "no credit";
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(act, [&] { return stage.learner.received.size() == 1; }));
  EXPECT_EQ(stage.Stats().steps, 4u);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(stage.learner.received[0]->view.reward[t], t + 1.0f);
  stage.learner.Release(1, 1);
  EXPECT_TRUE(
      Until([&] { stage.learner.PollOnce(0); }, [&] { return mmr_act(agent, numbers, 3) >= 0; }));
  mmr_agent_close(agent);
}

TEST(CAlone, TheDefaultActionIsPlayedUntilThereAreWeights) {
  mmr_client_options options = Options();
  options.without_policy = MMR_WITHOUT_DEFAULT;
  mmr_client* client = mmr_connect(FreshAddress().c_str(), &options);
  mmr_space see = mmr_box(3), act = mmr_discrete(4);
  std::int32_t choice = 3;
  mmr_action idle{};
  idle.size = sizeof idle;
  idle.choices = &choice;
  idle.choice_count = 1;
  mmr_agent_options agent_options{};
  agent_options.size = sizeof agent_options;
  agent_options.observation = &see;
  agent_options.action = &act;
  agent_options.default_action = &idle;
  mmr_agent* agent = mmr_agent_new(client, &agent_options);
  ASSERT_NE(agent, nullptr) << mmr_last_error();
  const float numbers[3] = {1, 2, 3};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(mmr_act(agent, numbers, 3), 3);
  mmr_agent_close(agent);
  mmr_close(client);
}

}  // namespace
}  // namespace murmurate
