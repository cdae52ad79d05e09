// A forked child has copies of everything and none of the threads.
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

/// Runs `child` in a forked child while `meanwhile` repeats here; its exit code, or -1 when it had
/// to be killed after ten seconds.
int InAChild(const std::function<int()>& child, const std::function<void()>& meanwhile) {
  const pid_t pid = fork();
  if (pid == 0) _exit(child());
  int state = 0;
  const bool over = Until(meanwhile, [&] { return waitpid(pid, &state, WNOHANG) == pid; });
  if (over) return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  kill(pid, SIGKILL);
  waitpid(pid, &state, 0);
  return -1;
}

bool Forked(mmr_status status) {
  return status == MMR_FORKED && mmr_last_status() == MMR_FORKED &&
         std::string(mmr_last_error()).find("connect anew") != std::string::npos;
}

TEST(CFork, EveryCallInTheChildFailsAndClosingThereLeavesTheParentAlone) {
  Stage stage({.trajectory_length = 4});
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  mmr_space see = mmr_box(3), act = mmr_discrete(4);
  mmr_agent_options options{};
  options.size = sizeof options;
  options.observation = &see;
  options.action = &act;
  mmr_group* group = mmr_group_new(stage.client, &options, 2);
  stage.Begin();
  const float numbers[6] = {1, 2, 3, 4, 5, 6};
  const auto play = [&] {
    EXPECT_GE(mmr_act(agent, numbers, 3), 0);
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 3; }));
  const auto child = [&] {
    std::int32_t actions[2];
    const double rewards[2] = {1, 1};
    mmr_state state{};
    mmr_stats stats{};
    state.size = sizeof state, stats.size = sizeof stats;
    int line = 1;  // of the first that is wrong
    for (const mmr_status status :
         {mmr_act(agent, numbers, 3), mmr_reward(agent, 1), mmr_end(agent, 0, nullptr, 0),
          mmr_discard(agent), mmr_report(agent, "x", 1), mmr_set_mode(agent, 1), mmr_took(agent, 1),
          mmr_took_log_prob(agent, 1, -1), mmr_group_act(group, numbers, 3, actions, 2, nullptr, 0),
          mmr_group_reward(group, rewards, nullptr, 2), mmr_get_state(stage.client, &state),
          mmr_get_stats(stage.client, &stats), mmr_update(stage.client),
          mmr_save(stage.client, "/tmp/never", nullptr)}) {
      if (!Forked(status)) return line;
      ++line;
    }
    if (mmr_agent_new(stage.client, &options) != nullptr || !Forked(mmr_last_status())) return 50;
    if (mmr_group_agent(group, 0) != nullptr || !Forked(mmr_last_status())) return 51;
    if (mmr_setting(stage.client, "x", 2) != 2) return 52;
    if (mmr_agent_close(agent) != MMR_OK) return 53;
    if (mmr_group_close(group) != MMR_OK) return 54;
    if (mmr_close(stage.client) != MMR_OK) return 55;
    return 0;
  };
  for (int round = 0; round < 5; ++round) EXPECT_EQ(InAChild(child, play), 0);
  const std::size_t before = stage.learner.received.size();
  EXPECT_TRUE(Until(play, [&] { return stage.learner.received.size() >= before + 10; }));
  EXPECT_EQ(stage.learner.session().live_agents(0), 3) << "no goodbye from the child";
  EXPECT_EQ(stage.Stats().reconnects, 0u);
  mmr_group_close(group);
  mmr_agent_close(agent);
}

TEST(CFork, AChildConnectsAnew) {
  Stage stage({.trajectory_length = 4});
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  stage.Begin();
  const auto child = [&] {
    mmr_client* own = mmr_connect(stage.address.c_str(), nullptr);
    mmr_agent* other = mmr_new_agent(own, mmr_box(3), mmr_discrete(4));
    mmr_stats stats{};
    stats.size = sizeof stats;
    const float numbers[3] = {1, 2, 3};
    const bool sent = Until([&] { mmr_act(other, numbers, 3); },
                            [&] {
                              mmr_get_stats(own, &stats);
                              return stats.trajectories_sent >= 3;
                            });
    mmr_agent_close(other);
    return sent && mmr_close(own) == MMR_OK ? 0 : 1;
  };
  EXPECT_EQ(InAChild(child, [&] { stage.learner.PollOnce(); }), 0) << mmr_last_error();
  EXPECT_GE(stage.learner.received.size(), 3u);
  mmr_agent_close(agent);
}

/// The same for who forks with the C++ client: the child plays on, alone, and leaves quietly.
TEST(Fork, AChildsCopiesPlayOnAndGoWithoutAWord) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.trajectory_length = 4});
  auto client = MustConnect(address, {.pace = Pace::kCredit});
  Agent agent = client->NewAgent({.observation = Box({3}), .action = Discrete(4)});
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  const std::vector<float> see(3, 0.5f);
  const auto child = [&] {
    for (int i = 0; i < 1000; ++i) agent.Act(see);
    if (client->NewAgent({.observation = Box({3}), .action = Discrete(4)}).valid()) return 1;
    if (client->last_error().message().find("connect anew") == std::string::npos) return 2;
    if (client->State().state != ClientState::kNoLearner) return 3;
    if (client->Save("/tmp/never").ok() || client->Update() != 0) return 4;
    agent = Agent();
    client.reset();
    return 0;
  };
  EXPECT_EQ(InAChild(child, [&] { learner.PollOnce(); }), 0);
  EXPECT_EQ(learner.session().live_agents(0), 1);
  EXPECT_EQ(client->State().state, ClientState::kLive);
  EXPECT_TRUE(learner.received.empty()) << "what the child played is nobody's";
}

}  // namespace
}  // namespace murmurate
