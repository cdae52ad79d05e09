// What a C program plays is what the learner gets: every space, groups, states, masks.
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <thread>

#include "tests/client/c_abi/player.h"
#include "tests/client/c_abi/stage.h"
#include "tests/client/mixed_game.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

/// game.h's game, played through C.
class CGame {
 public:
  explicit CGame(mmr_client* client)
      : agent(mmr_new_agent(client, mmr_box(3), mmr_discrete(4))),
        recorder_(MustConnect(FreshAddress())),
        record(*recorder_) {
    EXPECT_NE(agent, nullptr) << mmr_last_error();
  }
  ~CGame() { mmr_agent_close(agent); }
  void Step() {
    auto& life = record.life;
    const std::vector<float> observation = record.Look();
    const std::size_t next = life.size() + 1;
    plain_step step{observation.data(), 3, static_cast<float>(life.size() % 7) * 0.5f,
                    next % 11 == 0, nullptr};
    const bool first = life.empty() || (life.back().flags & (kTerminatedFlag | kTruncatedFlag));
    life.push_back(
        {observation, 0, step.reward, static_cast<std::uint8_t>(first ? kFirst : 0), {}});
    if (step.terminated) {
      life.back().flags |= kTerminatedFlag;
    } else if (next % 13 == 0) {
      life.back().flags |= kTruncatedFlag;
      life.back().final_observation = {1.0f * next, 2.0f, 3.0f};
      step.final_observation = life.back().final_observation.data();
    }
    life.back().action = play_plain(agent, &step);
    EXPECT_GE(life.back().action, 0) << mmr_last_error();
  }
  mmr_agent* const agent;

 private:
  std::unique_ptr<Client> recorder_;  ///< for a Game that only remembers

 public:
  Game record;
};

TEST(CPlay, WhatArrivesIsExactlyWhatWasPlayed) {
  mmr_client_options options = Options();
  options.pace = MMR_PACE_CREDIT;
  Stage stage({}, options);
  CGame game(stage.client);
  stage.Begin();
  std::atomic<bool> enough{false}, over{false};
  std::thread player([&] {
    while (!enough.load()) game.Step();
    over = true;
  });
  std::uint64_t version = 1;
  EXPECT_TRUE(Until(
      [&] {
        stage.learner.PollOnce();
        if (stage.learner.received.size() / 20 >= version) {
          stage.learner.Publish("default", ++version);
        }
      },
      [&] { return stage.learner.received.size() >= 100; }));
  enough = true;
  stage.learner.SayGoaway(false);  // whoever still waits plays on
  EXPECT_TRUE(Until([&] { stage.learner.PollOnce(); }, [&] { return over.load(); }));
  player.join();
  ExpectAsLived(stage.learner.received, game.record, SmallSpec());
  EXPECT_GE(stage.learner.received.back()->view.version, 2u);
  EXPECT_EQ(stage.Stats().trajectories_refused, 0u);
}

TEST(CPlay, AForbiddenChoiceIsNeverPlayed) {
  Stage stage;
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  const float see[3] = {0.5f, -0.5f, 1.0f};
  for (int round = 0; round < 2; ++round) {
    for (int k = 1; k < 16; ++k) {
      std::uint8_t allowed[4];
      for (int i = 0; i < 4; ++i) allowed[i] = k >> i & 1;
      const int action = mmr_act_masked(agent, see, 3, allowed, 4);
      ASSERT_TRUE(action >= 0 && action < 4 && allowed[action]) << k << " gave " << action;
    }
    if (round == 0) stage.Begin();  // the second round is a policy's
  }
  mmr_agent_close(agent);
}

mixed_scene Shown(int k) {
  const Scene scene(k);
  mixed_scene shown;
  std::ranges::copy(scene.place, shown.place);
  std::ranges::copy(scene.kind, shown.kind);
  std::ranges::copy(scene.camera, shown.camera);
  std::ranges::copy(scene.mask, shown.allowed);
  return shown;
}

/// The steps of a trajectory are the actions that C was given, before clipping.
void ExpectPlayed(const TrajectoryView& view, const std::vector<mixed_action>& played) {
  for (int t = 0; t < view.steps; ++t) {
    const std::int32_t* words = view.action.data() + t * MixedTrajectory::kWords;
    const mixed_action& action = played.at(view.first_step + static_cast<std::uint64_t>(t));
    EXPECT_EQ(words[0], action.weapon[0]);
    EXPECT_EQ(words[1], action.weapon[1]);
    EXPECT_EQ(std::clamp(std::bit_cast<float>(words[2]), -1.0f, 1.0f), action.turn[0]);
  }
}

TEST(CPlay, InputsStatesMasksAndPartsArriveAsTheyWerePlayed) {
  Stage stage({.trajectory_length = 4, .model = MixedSpec()});
  mmr_agent* agent = new_mixed_agent(stage.client, nullptr);
  ASSERT_NE(agent, nullptr) << mmr_last_error();
  stage.Begin();
  std::vector<mixed_action> played;
  const auto play = [&] {
    const int k = static_cast<int>(played.size());
    const mixed_scene scene = Shown(k);
    ASSERT_EQ(play_mixed(agent, &scene, &played.emplace_back()), MMR_OK) << mmr_last_error();
    if (k % 7 == 3) {
      ASSERT_EQ(mmr_end(agent, MMR_TERMINATED, nullptr, 0), MMR_OK);
    }
    const mixed_scene last = Shown(1000 + k);
    if (k % 7 == 5) {
      ASSERT_EQ(cut_mixed(agent, &last, MMR_SUCCESS), MMR_OK) << mmr_last_error();
    }
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 40; }));
  int successes = 0;
  for (const auto& one : stage.learner.received) {
    if (one->view.version == 1) CheckPlayed(one->view, 1);
    ExpectPlayed(one->view, played);
    for (const EpisodeRecord& episode : one->view.episodes)
      successes += episode.success == kSuccess;
  }
  EXPECT_GE(successes, 10);
  mmr_agent_close(agent);
}

TEST(CPlay, AGroupOfAnySpacesIsRecordedAgentByAgent) {
  Stage stage({.trajectory_length = 4, .model = MixedSpec()});
  constexpr int kAgents = 5;
  mmr_group* group = new_mixed_group(stage.client, kAgents);
  ASSERT_NE(group, nullptr) << mmr_last_error();
  EXPECT_EQ(mmr_group_size(group), kAgents);
  stage.Begin();
  std::vector<std::vector<mixed_action>> played(kAgents);
  int k = 0;
  const auto play = [&] {
    mixed_scene scenes[kAgents];
    mixed_action actions[kAgents];
    for (int i = 0; i < kAgents; ++i) scenes[i] = Shown(100 * i + k);
    ASSERT_EQ(play_mixed_group(group, scenes, actions, nullptr, kAgents), MMR_OK)
        << mmr_last_error();
    for (int i = 0; i < kAgents; ++i) {
      played[i].push_back(actions[i]);
      mmr_agent* agent = mmr_group_agent(group, i);
      ASSERT_EQ(mmr_reward(agent, i), MMR_OK);
      if ((k + i) % 6 == 5) {
        ASSERT_EQ(mmr_end(agent, MMR_TERMINATED, nullptr, 0), MMR_OK);
      }
    }
    ++k;
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 60; }));
  for (const auto& one : stage.learner.received) {
    if (one->view.version == 1) CheckPlayed(one->view, 1);
    ExpectPlayed(one->view, played.at(one->agent_index));
    for (int t = 0; t < one->view.steps; ++t) EXPECT_EQ(one->view.reward[t], one->agent_index);
  }
  EXPECT_EQ(mmr_agent_close(mmr_group_agent(group, 0)), MMR_BAD_HANDLE);
  EXPECT_THAT(mmr_last_error(), HasSubstr("close the group"));
  EXPECT_EQ(mmr_group_close(group), MMR_OK);
}

/// As a vectorized environment that resets some of its environments in a step of their own.
TEST(CPlay, AgentsOfAGroupThatSitAStepOutRecordNothingInIt) {
  Stage stage({.trajectory_length = 4, .model = MixedSpec()});
  constexpr int kAgents = 5;
  mmr_group* group = new_mixed_group(stage.client, kAgents);
  ASSERT_NE(group, nullptr) << mmr_last_error();
  stage.Begin();
  std::vector<std::vector<mixed_action>> played(kAgents);
  int k = 0;
  const auto play = [&] {
    mixed_scene scenes[kAgents];
    mixed_action actions[kAgents];
    std::uint8_t playing[kAgents];
    double rewards[kAgents];
    for (int i = 0; i < kAgents; ++i) {
      scenes[i] = Shown(100 * i + k);
      actions[i].weapon[0] = -7;
      playing[i] = k % 7 != 6 && (k + i) % 3 != 0;  // every seventh time no agent
      rewards[i] = playing[i] ? i + 0.5 : 1000;
    }
    ASSERT_EQ(play_mixed_group(group, scenes, actions, playing, kAgents), MMR_OK)
        << mmr_last_error();
    ASSERT_EQ(mmr_group_reward(group, rewards, playing, kAgents), MMR_OK) << mmr_last_error();
    for (int i = 0; i < kAgents; ++i) {
      ASSERT_EQ(actions[i].weapon[0] != -7, playing[i] != 0);
      if (playing[i]) played[i].push_back(actions[i]);
    }
    ++k;
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 60; }));
  for (const auto& one : stage.learner.received) {
    ExpectPlayed(one->view, played.at(one->agent_index));
    for (int t = 0; t < one->view.steps; ++t)
      EXPECT_EQ(one->view.reward[t], one->agent_index + 0.5f);
  }
  const double all[kAgents] = {1, 1, 1, 1, 1};
  EXPECT_EQ(mmr_group_reward(group, all, nullptr, kAgents), MMR_OK);
  mmr_group_close(group);
}

TEST(CPlay, APlainGroupIsPlayedInOnePass) {
  Stage stage({.trajectory_length = 4});
  mmr_space see = mmr_box(3), act = mmr_discrete(4);
  mmr_agent_options options{};
  options.size = sizeof options;
  options.observation = &see;
  options.action = &act;
  mmr_group* group = mmr_group_new(stage.client, &options, 3);
  ASSERT_NE(group, nullptr) << mmr_last_error();
  stage.Begin();
  std::vector<std::vector<std::int32_t>> played(3);
  const auto play = [&] {
    float observations[9];
    std::int32_t actions[3] = {-1, -1, -1};
    const std::uint8_t allowed[12] = {1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 1, 1};
    for (int i = 0; i < 9; ++i) {
      observations[i] = std::sin(static_cast<float>(i + static_cast<int>(played[0].size())));
    }
    ASSERT_EQ(mmr_group_act(group, observations, 3, actions, 3, allowed, 4), MMR_OK)
        << mmr_last_error();
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(allowed[4 * i + actions[i]]);
      played[i].push_back(actions[i]);
    }
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 30; }));
  for (const auto& one : stage.learner.received) {
    for (int t = 0; t < one->view.steps; ++t) {
      EXPECT_EQ(one->view.action[t], played.at(one->agent_index).at(one->view.first_step + t));
    }
  }
  mmr_group_close(group);
}

TEST(CPlay, NumbersAreGivenClippedAndRecordedAsDrawn) {
  Stage stage({.trajectory_length = 4});
  const float low[2] = {-0.25f, 0.0f}, high[2] = {0.25f, 0.125f};
  mmr_space does = mmr_box(2);
  does.bounds = MMR_BOUNDED_EACH;
  does.low = low;
  does.high = high;
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), does);
  ASSERT_NE(agent, nullptr) << mmr_last_error();
  stage.Begin();
  std::vector<std::array<float, 2>> played;
  const auto play = [&] {
    const float see[3] = {0.1f, 0.2f, static_cast<float>(played.size() % 5)};
    auto& action = played.emplace_back();
    ASSERT_EQ(mmr_act_continuous(agent, see, 3, action.data(), 2), MMR_OK) << mmr_last_error();
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 20; }));
  int clipped = 0;
  for (const auto& one : stage.learner.received) {
    for (int t = 0; t < one->view.steps; ++t) {
      for (int i = 0; i < 2; ++i) {
        const float drawn = std::bit_cast<float>(one->view.action[2 * t + i]);
        const float given = played.at(one->view.first_step + t)[i];
        EXPECT_EQ(given, std::clamp(drawn, low[i], high[i]));
        clipped += given != drawn;
      }
    }
  }
  EXPECT_GT(clipped, 0);
  mmr_agent_close(agent);
}

TEST(CPlay, WhatTheGameSaysBetweenStepsArrives) {
  Stage stage({.trajectory_length = 8});
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  stage.Begin();
  const float see[3] = {1, 2, 3};
  const auto act = [&] { return mmr_act(agent, see, 3); };
  act(), act();
  EXPECT_EQ(mmr_discard(agent), MMR_OK);  // two steps nobody learns from
  const int drawn = act();
  EXPECT_EQ(mmr_took(agent, (drawn + 1) % 4), MMR_OK) << mmr_last_error();
  EXPECT_EQ(mmr_reward(agent, 5), MMR_OK);
  EXPECT_EQ(mmr_report(agent, "kills", 2), MMR_OK);
  EXPECT_EQ(mmr_report(agent, "kills", 1), MMR_OK);
  EXPECT_EQ(mmr_end_any(agent, MMR_TERMINATED, MMR_FAILURE, nullptr), MMR_OK);
  EXPECT_EQ(mmr_agent_close(agent), MMR_OK);
  ASSERT_TRUE(
      Until([&] { stage.learner.PollOnce(); }, [&] { return !stage.learner.received.empty(); }));
  const auto& one = *stage.learner.received.front();
  ASSERT_EQ(one.view.steps, 1);
  EXPECT_EQ(one.view.action[0], (drawn + 1) % 4);
  EXPECT_EQ(one.view.reward[0], 5.0f);
  ASSERT_EQ(one.view.episodes.size(), 1u);
  EXPECT_EQ(one.view.episodes[0].success, kFailure);
  ASSERT_EQ(one.metadata.reports.size(), 1u);
  EXPECT_EQ(one.metadata.reports[0].name, "kills");
  EXPECT_EQ(one.metadata.reports[0].sum, 3.0);
}

TEST(CPlay, WhatTheGameChoseItselfArrivesWithItsLogProbability) {
  Stage stage({.trajectory_length = 8});
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  stage.Begin();
  const float see[3] = {1, 2, 3};
  for (int t = 0; t < 4; ++t) {
    const int drawn = mmr_act(agent, see, 3);
    EXPECT_EQ(mmr_took_log_prob(agent, (drawn + 1) % 4, -0.5f * static_cast<float>(t)), MMR_OK);
  }
  EXPECT_EQ(mmr_end(agent, MMR_TERMINATED, nullptr, 0), MMR_OK);
  EXPECT_EQ(mmr_agent_close(agent), MMR_OK);
  ASSERT_TRUE(
      Until([&] { stage.learner.PollOnce(); }, [&] { return !stage.learner.received.empty(); }));
  EXPECT_THAT(stage.learner.received.front()->view.log_prob,
              testing::ElementsAre(0.0f, -0.5f, -1.0f, -1.5f));
}

TEST(CPlay, EvaluationIsGreedyAndReportsReturnsOnly) {
  Stage stage({.trajectory_length = 8});
  mmr_agent* agent = mmr_new_agent(stage.client, mmr_box(3), mmr_discrete(4));
  EXPECT_EQ(mmr_set_mode(agent, MMR_EVALUATE), MMR_OK);
  stage.Begin();
  const float see[3] = {1, 2, 3};
  const int first = mmr_act(agent, see, 3);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(mmr_act(agent, see, 3), first);
  mmr_end(agent, MMR_TERMINATED, nullptr, 0);
  ASSERT_TRUE(
      Until([&] { stage.learner.PollOnce(); }, [&] { return !stage.learner.received.empty(); }));
  EXPECT_EQ(stage.learner.received[0]->view.steps, 0);
  EXPECT_EQ(stage.learner.received[0]->view.episodes[0].length, 51u);
  mmr_agent_close(agent);
}

TEST(CPlay, ASavedPolicyPlaysTheSameWithoutLearnerOrThread) {
  Stage stage({.trajectory_length = 4, .model = MixedSpec()});
  mmr_agent* agent = new_mixed_agent(stage.client, nullptr);
  stage.Begin();
  const std::string path = testing::TempDir() + "c-policy-" + std::to_string(getpid());
  ASSERT_EQ(mmr_save(stage.client, path.c_str(), nullptr), MMR_OK) << mmr_last_error();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto threads = ThreadNames();
  mmr_client_options from_file = Options(), from_memory = Options();
  from_file.policy_path = path.c_str();
  from_memory.policy_bytes = bytes.data();
  from_memory.policy_size = bytes.size();
  for (const mmr_client_options& options : {from_file, from_memory}) {
    mmr_client* open = mmr_open(&options);
    ASSERT_NE(open, nullptr) << mmr_last_error();
    mmr_agent* shipped = new_mixed_agent(open, nullptr);
    ASSERT_NE(shipped, nullptr) << mmr_last_error();
    EXPECT_EQ(ThreadNames(), threads);
    for (mmr_agent* one : {agent, shipped}) mmr_set_mode(one, MMR_SILENT);
    for (int k = 0; k < 40; ++k) {
      const mixed_scene scene = Shown(k);
      mixed_action live, alone;
      ASSERT_EQ(play_mixed(agent, &scene, &live), MMR_OK);
      ASSERT_EQ(play_mixed(shipped, &scene, &alone), MMR_OK);
      EXPECT_EQ(live.weapon[0], alone.weapon[0]);
      EXPECT_EQ(live.weapon[1], alone.weapon[1]);
      EXPECT_EQ(live.turn[0], alone.turn[0]);
      if (k % 9 == 8) mmr_end(agent, 0, nullptr, 0), mmr_end(shipped, 0, nullptr, 0);
    }
    mmr_end(agent, MMR_TERMINATED, nullptr, 0);
    mmr_agent_close(shipped);
    mmr_close(open);
  }
  mmr_agent_close(agent);
  std::remove(path.c_str());
}

TEST(CPlay, TwoModelsPlayAtOnceAndTheirPartsAreFoundByName) {
  Stage stage({.trajectory_length = 4, .model = MixedSpec()});
  mmr_agent* npc = new_mixed_agent(stage.client, "npc");
  mmr_agent* boss = mmr_new_agent(stage.client, mmr_box(5), mmr_multi_binary(3));
  ASSERT_TRUE(npc != nullptr && boss != nullptr) << mmr_last_error();
  mmr_part part{};
  part.size = sizeof part;
  ASSERT_EQ(mmr_find_part(npc, "turn", &part), MMR_OK) << mmr_last_error();
  EXPECT_TRUE(part.continuous == 1 && part.first == 0 && part.count == 1);
  ASSERT_EQ(mmr_find_part(boss, nullptr, &part), MMR_OK) << mmr_last_error();
  EXPECT_TRUE(part.continuous == 0 && part.first == 0 && part.count == 3);
  mmr_shape shape{};
  shape.size = sizeof shape;
  ASSERT_EQ(mmr_get_shape(npc, &shape), MMR_OK);
  EXPECT_TRUE(shape.inputs == 3 && shape.observation_numbers == 0 && shape.choices == 2 &&
              shape.numbers == 1 && shape.mask_bytes == 5);
  ASSERT_EQ(mmr_get_shape(boss, &shape), MMR_OK);
  EXPECT_TRUE(shape.inputs == 1 && shape.observation_numbers == 5 && shape.choices == 3 &&
              shape.numbers == 0 && shape.mask_bytes == 0);
  EXPECT_TRUE(Until([&] { stage.learner.PollOnce(); },
                    [&] { return stage.learner.knows("npc") && stage.learner.knows("default"); }));
  mmr_agent_close(npc);
  mmr_agent_close(boss);
}

}  // namespace
}  // namespace murmurate
