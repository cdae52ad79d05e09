#include "murmurate/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

#include "client/platform.h"
#include "tests/client/test_learner.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

std::string FreshAddress() {
  static int count = 0;
  const auto folder = RuntimeFolder();
  EXPECT_TRUE(folder.ok()) << folder.status();
  return "ipc://" + *folder + "/client-test-" + std::to_string(++count);
}

std::unique_ptr<Client> MustConnect(const std::string& address, ClientOptions options = {}) {
  auto client = Client::Connect(address, std::move(options));
  EXPECT_TRUE(client.ok()) << client.status();
  return *std::move(client);
}

/// A game without an end, and what it remembers of it.
struct Game {
  explicit Game(Client& client, const std::string& model = "default", int observations = 3,
                int actions = 4)
      : agent(client.NewAgent(
            {.observation = Box({observations}), .action = Discrete(actions), .model = model})),
        width(observations) {
    EXPECT_TRUE(agent.valid()) << client.last_error();
  }
  struct Lived {
    std::vector<float> observation;
    int action;
    float reward;
    std::uint8_t flags;
    std::vector<float> final_observation;
  };
  std::vector<float> Look() const {
    std::vector<float> observation(static_cast<std::size_t>(width));
    for (int i = 0; i < width; ++i) {
      observation[i] = static_cast<float>(std::sin(0.3 * static_cast<double>(life.size()) + i));
    }
    return observation;
  }
  void Step() {
    const auto observation = Look();
    const int action = agent.Act(observation);
    const float reward = static_cast<float>(life.size() % 7) * 0.5f;
    agent.Reward(reward / 2);
    agent.Reward(reward / 2);
    const bool first = life.empty() || (life.back().flags & (kTerminatedFlag | kTruncatedFlag));
    life.push_back(
        {observation, action, reward, static_cast<std::uint8_t>(first ? kFirst : 0), {}});
    if (life.size() % 11 == 0) {
      life.back().flags |= kTerminatedFlag;
      agent.End(kTerminated);
    } else if (life.size() % 13 == 0) {
      life.back().flags |= kTruncatedFlag;
      life.back().final_observation = {1.0f * life.size(), 2.0f, 3.0f};
      life.back().final_observation.resize(static_cast<std::size_t>(width));
      agent.End(kTruncated, life.back().final_observation);
    }
  }
  Agent agent;
  int width;
  std::vector<Lived> life;
};

/// Every step of what was received is what the game lived, and its log-probability that of the
/// version.
void ExpectAsLived(const std::vector<std::unique_ptr<ReceivedTrajectory>>& received,
                   const Game& game, const ModelSpec& spec) {
  std::uint64_t expected_first = received.empty() ? 0 : received.front()->view.first_step;
  const std::size_t width = static_cast<std::size_t>(game.width);
  for (const auto& one : received) {
    const TrajectoryView& view = one->view;
    EXPECT_EQ(view.first_step, expected_first) << "a gap";
    expected_first += view.steps;
    const AlignedFloats parameters = SomeParameters(spec, view.version);
    std::size_t finals = 0;
    for (int t = 0; t < view.steps; ++t) {
      const Game::Lived& lived = game.life.at(view.first_step + t);
      EXPECT_TRUE(std::equal(lived.observation.begin(), lived.observation.end(),
                             view.observation.data() + t * width));
      EXPECT_EQ(view.action[t], lived.action);
      EXPECT_EQ(view.reward[t], lived.reward);
      EXPECT_EQ(view.flags[t], lived.flags);
      if (!lived.final_observation.empty()) {
        EXPECT_TRUE(std::equal(lived.final_observation.begin(), lived.final_observation.end(),
                               view.final_observation.data() + finals++ * width));
      }
      const double log_prob =
          view.version == 0 ? -std::log(spec.spaces.action.n)
                            : LogProbabilities(spec, parameters, lived.observation)[lived.action];
      EXPECT_NEAR(view.log_prob[t], log_prob, 2e-5);
    }
    const std::size_t next = view.first_step + view.steps;
    const bool ended = view.steps > 0 && view.flags[view.steps - 1] >= kTerminatedFlag;
    if (!ended && next < game.life.size()) {
      EXPECT_TRUE(std::equal(view.next_observation.begin(), view.next_observation.end(),
                             game.life[next].observation.begin()));
    }
  }
}

TEST(Client, BadArgumentsAreRefusedAndAMissingLearnerIsNot) {
  EXPECT_EQ(Client::Connect("udp://x").status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(Client::Connect(FreshAddress(), {.name = "a b"}).status().message(),
              HasSubstr("client name"));
  EXPECT_FALSE(
      Client::Connect(FreshAddress(), {.policy = PolicySource::FromFile("/nowhere")}).ok());
  EXPECT_FALSE(Client::Open({}).ok());
  EXPECT_TRUE(Client::Connect(FreshAddress()).ok());
}

TEST(Client, OtherSpacesForTheSameModelGiveAnInvalidAgentAndTheReason) {
  auto client = MustConnect(FreshAddress());
  Game game(*client);
  Agent other = client->NewAgent({.observation = Box({3}), .action = Discrete(5)});
  EXPECT_FALSE(other.valid());
  EXPECT_THAT(client->last_error().message(), HasSubstr("expected discrete 4, got discrete 5"));
  EXPECT_FALSE(client->NewAgent({.observation = Discrete(3), .action = Discrete(5)}).valid());
}

TEST(Client, AGamePlaysWithNoLearnerAndStreamsWhenOneAppears) {
  const std::string address = FreshAddress();
  auto client = MustConnect(address);
  Game game(*client);
  for (int i = 0; i < 1000; ++i) game.Step();
  EXPECT_EQ(client->State().state, ClientState::kNoLearner);
  EXPECT_EQ(client->Stats().steps, 1000u);
  TestLearner learner(address, {});
  ASSERT_TRUE(
      Until([&] { game.Step(), learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(); },
                    [&] { return learner.received.size() >= 2; }));
  EXPECT_EQ(learner.received[0]->view.version, 0u) << "recorded though there are no weights";
  EXPECT_EQ(client->State().state, ClientState::kWaitingForWeights);
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(); },
                    [&] { return learner.received.back()->view.version == 1; }));
  EXPECT_EQ(client->State().state, ClientState::kLive) << client->State().reason;
  EXPECT_EQ(client->Stats().version, 1u);
}

class ClientOverBothPaths : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SharedMemoryAndNetwork, ClientOverBothPaths, testing::Bool());

TEST_P(ClientOverBothPaths, WhatArrivesIsExactlyWhatWasPlayed) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.shm = GetParam()});
  auto client = MustConnect(address, {.pace = Pace::kCredit});
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  std::atomic<bool> over{false};
  std::thread player([&] {
    while (!over.load()) game.Step();
  });
  std::uint64_t version = 1;
  EXPECT_TRUE(Until(
      [&] {
        learner.PollOnce();
        if (learner.received.size() / 20 >= version) learner.Publish("default", ++version);
      },
      [&] { return learner.received.size() >= 200; }));
  over.store(true);
  std::thread waker(
      [&] { ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return over == false; })); });
  player.join();
  over.store(false);
  waker.join();
  EXPECT_GE(learner.received.back()->view.version, 3u);
  ExpectAsLived(learner.received, game, SmallSpec());
  EXPECT_EQ(client->Stats().trajectories_dropped, 0u);
  EXPECT_EQ(client->Stats().trajectories_refused, 0u);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->Stats().trajectories_sent >= learner.received.size(); }));
}

TEST(Client, WithoutCreditTheOldestAreDroppedAndEpisodesAreNot) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.outstanding = 8, .batch = 8, .release = false});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(0); },
                    [&] { return learner.received.size() == 8; }));
  for (int i = 0; i < 16 * 30; ++i) game.Step();
  const ClientStats stats = client->Stats();
  EXPECT_GE(stats.trajectories_dropped, 20u);
  EXPECT_GE(stats.steps_dropped, 20u * 16);
  // Credit again: what waits arrives, and then a trajectory at a time, with what was told too late.
  int released = 0;
  const auto take = [&] {
    if (const auto count = static_cast<int>(learner.received.size()) - released; count > 0) {
      learner.Release(count, 1);
      released += count;
    }
    learner.PollOnce();
  };
  ASSERT_TRUE(Until(take, [&] { return learner.received.size() == 15; }));
  for (std::size_t count = 16; count < 20; ++count) {
    for (int i = 0; i < 16; ++i) game.Step();
    ASSERT_TRUE(Until(take, [&] { return learner.received.size() == count; })) << count;
  }
  double returns = 0, expected = 0, so_far = 0;
  std::size_t episodes = 0, ended = 0;
  const auto& last = learner.received.back()->view;
  for (const auto& one : learner.received) {
    for (const EpisodeRecord& episode : one->view.episodes) {
      returns += episode.raw_return, ++episodes;
    }
  }
  for (std::size_t i = 0; i < last.first_step + last.steps; ++i) {
    so_far += game.life[i].reward;
    if (game.life[i].flags < kTerminatedFlag) continue;
    expected += so_far, so_far = 0, ++ended;
  }
  EXPECT_EQ(episodes, ended) << "every episode finished by then is told of";
  EXPECT_EQ(returns, expected);
  EXPECT_EQ(client->Stats().trajectories_dropped, stats.trajectories_dropped);
}

TEST(Client, ALearnerThatDiesLeavesTheGamePlayingAndItsSuccessorIsFound) {
  const std::string address = FreshAddress();
  auto client = MustConnect(address, {.accept_reset = true});
  Game game(*client);
  auto learner = std::make_unique<TestLearner>(address, TestLearnerOptions{});
  const auto play = [&] {
    game.Step();
    if (learner) learner->PollOnce();
  };
  ASSERT_TRUE(Until(play, [&] { return learner->knows("default"); }));
  learner->Publish("default", 9);
  ASSERT_TRUE(Until(play, [&] { return client->State().state == ClientState::kLive; }));
  learner->SayGoaway(true);
  learner->PollOnce();
  ASSERT_TRUE(Until(play, [&] { return client->State().state == ClientState::kDegraded; }));
  EXPECT_FALSE(client->should_stop());
  learner.reset();
  const std::uint64_t steps = client->Stats().steps;
  for (int i = 0; i < 500; ++i) play();
  EXPECT_EQ(client->Stats().steps, steps + 500);
  EXPECT_EQ(client->Stats().version, 9u) << "on its last weights";
  learner = std::make_unique<TestLearner>(address, TestLearnerOptions{.incarnation = 101});
  ASSERT_TRUE(Until(play, [&] { return learner->knows("default"); }));
  learner->Publish("default", 1);
  ASSERT_TRUE(Until(play, [&] {
    return !learner->received.empty() && learner->received.back()->view.version == 1;
  }));
  for (const auto& one : learner->received) {
    EXPECT_NE(one->metadata.incarnation, 100u) << "played for the dead";
  }
  EXPECT_EQ(client->Stats().trajectories_refused, 0u);
  EXPECT_EQ(client->State().state, ClientState::kLive);
}

TEST(Client, WithoutAcceptResetALearnerThatStartedAfreshIsNotFollowed) {
  const std::string address = FreshAddress();
  auto client = MustConnect(address);
  Game game(*client);
  auto learner = std::make_unique<TestLearner>(address, TestLearnerOptions{});
  const auto play = [&] { game.Step(), learner->PollOnce(); };
  ASSERT_TRUE(Until(play, [&] { return learner->knows("default"); }));
  learner->Publish("default", 9);
  ASSERT_TRUE(Until(play, [&] { return client->State().state == ClientState::kLive; }));
  learner->SayGoaway(true);
  learner->PollOnce();
  learner.reset();
  learner = std::make_unique<TestLearner>(address, TestLearnerOptions{.incarnation = 101});
  ASSERT_TRUE(Until(
      play, [&] { return client->State().reason.find("started afresh") != std::string::npos; }));
  EXPECT_EQ(client->State().state, ClientState::kDegraded);
  learner->Publish("default", 1);
  for (int i = 0; i < 100; ++i) play();
  EXPECT_TRUE(learner->received.empty());
  EXPECT_EQ(client->Stats().version, 9u);
}

TEST(Client, AGoodbyeForGoodAsksToStopAndTheGameMayPlayOn) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  EXPECT_FALSE(client->should_stop());
  learner.SayGoaway(false);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return client->should_stop(); }));
  for (int i = 0; i < 100; ++i) game.Step();
}

TEST(Client, OtherSpacesThanTheLearnersAreRefusedInWords) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto first = MustConnect(address);
  Game right(*first);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  auto second = MustConnect(address);
  Game wrong(*second, "default", 5, 4);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return second->State().state == ClientState::kRefused; }));
  EXPECT_THAT(second->State().reason, HasSubstr("observation"));
  for (int i = 0; i < 50; ++i) wrong.Step();
}

TEST(Client, TwoModelsWithDifferentSpacesPlayAtOnce) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game npc(*client, "npc"), boss(*client, "boss", 5, 6);
  const auto play = [&] { npc.Step(), boss.Step(), learner.PollOnce(); };
  ASSERT_TRUE(Until(play, [&] { return learner.knows("npc") && learner.knows("boss"); }));
  learner.Publish("npc", 3);
  learner.Publish("boss", 4);
  int npcs = 0, bosses = 0;
  ASSERT_TRUE(Until(play, [&] {
    npcs = bosses = 0;
    for (const auto& one : learner.received) {
      npcs += one->view.version == 3;
      bosses += one->view.version == 4;
    }
    return npcs >= 3 && bosses >= 3;
  }));
  for (const auto& one : learner.received) {
    const Game& game = one->metadata.model == 0 ? npc : boss;
    for (int t = 0; t < one->view.steps; ++t) {
      EXPECT_EQ(one->view.action[t], game.life.at(one->view.first_step + t).action);
    }
  }
}

TEST(Client, AgentsThatCloseAreHandedOverAndLeaveTheSession) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  auto game = std::make_unique<Game>(*client);
  Game other(*client);
  ASSERT_TRUE(
      Until([&] { learner.PollOnce(); }, [&] { return learner.session().live_agents(0) == 2; }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  while (game->life.size() % 16 != 6) game->Step();
  game->Step();
  const auto before = game->life.size();
  game.reset();
  ASSERT_TRUE(
      Until([&] { learner.PollOnce(); }, [&] { return learner.session().live_agents(0) == 1; }));
  ASSERT_FALSE(learner.received.empty());
  std::uint64_t last = 0;
  for (const auto& one : learner.received) {
    last = std::max(last, one->view.first_step + static_cast<std::uint64_t>(one->view.steps));
  }
  EXPECT_EQ(last, before - 1) << "all but the step whose end nobody saw";
}

TEST(Client, AgentsThatComeAndGoInHasteAreAllHeard) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.outstanding = 1000});
  auto client =
      MustConnect(address, {.pace = Pace::kCredit, .without_policy = WithoutPolicy::kWait});
  constexpr std::size_t kPairs = 30;
  std::atomic<bool> over{false};
  std::thread game([&] {
    const AgentOptions options{.observation = Box({3}), .action = Discrete(4)};
    const std::vector<float> observation(3);
    for (std::size_t i = 0; i < kPairs; ++i) {
      Agent one = client->NewAgent(options);
      const std::int64_t start = MonotonicNs();
      while (MonotonicNs() - start < static_cast<std::int64_t>(i) * 3000) {
      }
      Agent two = client->NewAgent(options);
      for (int step = 0; step < 5; ++step) two.Act(observation), one.Act(observation);
    }
    over = true;
  });
  bool published = false;
  EXPECT_TRUE(Until(
      [&] {
        learner.PollOnce();
        if (!published && learner.knows("default")) learner.Publish("default", 1);
        published = learner.knows("default");
      },
      [&] { return over.load() && learner.received.size() == 2 * kPairs; }))
      << learner.received.size();
  learner.SayGoaway(false);  // whoever still waits plays on
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return over.load(); }));
  game.join();
  for (const auto& one : learner.received) EXPECT_EQ(one->view.steps, 4);
  EXPECT_EQ(client->Stats().trajectories_dropped, 0u);
}

TEST(Client, NoVersionIsSleptThrough) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  std::uint64_t version = 0;
  std::int64_t slowest_ns = 0;
  for (int round = 0; round < 300; ++round) {
    learner.Publish("default", ++version);
    const std::int64_t start = MonotonicNs();
    while (MonotonicNs() - start < round % 100 * 400) {
    }
    learner.Publish("default", ++version);
    ASSERT_TRUE(
        Until([&] { learner.PollOnce(0); }, [&] { return client->Stats().version == version; }));
    if (round > 0) slowest_ns = std::max(slowest_ns, MonotonicNs() - start);
  }
  EXPECT_LT(slowest_ns, 900 * kNanosecondsPerMillisecond) << "a wake was lost: the sleep is 1 s";
}

TEST(Client, ADestroyedClientLeavesAtOnceAndItsAgentsPlayOn) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(
      Until([&] { game.Step(), learner.PollOnce(); }, [&] { return learner.received.size() > 1; }));
  const std::int64_t start = MonotonicNs();
  client.reset();
  EXPECT_LT(MonotonicNs() - start, 2 * kNanosecondsPerSecond);
  for (int i = 0; i < 1000; ++i) game.Step();
  ASSERT_TRUE(
      Until([&] { learner.PollOnce(); }, [&] { return learner.session().live_agents(0) == 0; }));
}

TEST(Client, EvaluationEpisodesArriveAsSuch) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  game.agent.Mode(PlayMode::kEvaluate);
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(); },
                    [&] { return learner.received.size() >= 3; }));
  for (const auto& one : learner.received) {
    EXPECT_EQ(one->view.steps, 0);
    for (const EpisodeRecord& episode : one->view.episodes) EXPECT_EQ(episode.mode, 1u);
  }
}

TEST(Client, ReportedNumbersArriveWithTheirNames) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address, {.pace = Pace::kCredit});
  Agent agent = client->NewAgent({.observation = Box({3}), .action = Discrete(4)});
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  const std::vector<float> observation(3);
  for (int episode = 0; episode < 4; ++episode) {
    for (int step = 0; step < 5; ++step) agent.Act(observation);
    agent.Report("kills", episode);
    agent.Report("kills", 1);
    if (episode == 2) agent.Report("gold", 0.5);
    agent.End(kTerminated);
  }
  { const Agent closed = std::move(agent); }
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() == 2; }));
  std::map<std::string, std::pair<double, std::uint32_t>> numbers;
  for (const auto& one : learner.received) {
    for (const wire::ReportedNumber& number : one->metadata.reports) {
      numbers[number.name].first += number.sum;
      numbers[number.name].second += number.count;
    }
  }
  EXPECT_EQ(numbers["kills"], std::pair(10.0, 4u));
  EXPECT_EQ(numbers["gold"], std::pair(0.5, 1u));
}

TEST(Client, ASavedPolicyPlaysTheSameWithoutALearner) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game game(*client);
  EXPECT_EQ(client->Save("/tmp/never").code(), StatusCode::kUnavailable);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 12);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  const std::string path = testing::TempDir() + "/policy-" + std::to_string(ProcessId());
  ASSERT_TRUE(client->Save(path).ok());
  auto alone = Client::Open({.policy = PolicySource::FromFile(path)});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ((*alone)->Stats().version, 0u);
  Agent agent = (*alone)->NewAgent({.observation = Box({3}), .action = Discrete(4)});
  ASSERT_TRUE(agent.valid()) << (*alone)->last_error();
  EXPECT_FALSE(
      (*alone)->NewAgent({.observation = Box({2}), .action = Discrete(4), .model = "x"}).valid());
  agent.Mode(PlayMode::kSilent);
  game.agent.Discard();
  game.agent.Mode(PlayMode::kSilent);
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> observation = {std::sin(1.0f * i), std::cos(2.0f * i), 0.01f * i};
    EXPECT_EQ(agent.Act(observation), game.agent.Act(observation));
  }
  EXPECT_EQ((*alone)->Stats().version, 12u);
  std::filesystem::remove(path);
}

TEST(Client, LockstepPlaysEachBatchUnderTheVersionItsCreditIsFor) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.outstanding = 4, .batch = 4, .release = false});
  auto client =
      MustConnect(address, {.pace = Pace::kLockstep, .without_policy = WithoutPolicy::kWait});
  // Both in one group: what one has finished leaves before the other waits.
  AgentGroup group = client->NewAgentGroup({.observation = Box({3}), .action = Discrete(4)}, 2);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  std::thread player([&] {
    std::vector<float> observations(6);
    std::vector<std::int32_t> actions(2);
    for (int step = 0; step < 16 * 12; ++step) {
      for (int i = 0; i < 6; ++i) observations[i] = std::sin(0.1f * step + i);
      group.Act(observations, actions);
      for (int i = 0; i < 2; ++i) group[i].Reward(actions[i]);
    }
  });
  learner.Publish("default", 1);
  std::size_t seen = 0;
  for (std::uint64_t version = 2; version <= 5; ++version) {
    EXPECT_TRUE(
        Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() >= seen + 4; }));
    for (; seen < learner.received.size(); ++seen) {
      EXPECT_EQ(learner.received[seen]->view.version, version - 1);
    }
    EXPECT_EQ(seen, 4 * (version - 1)) << "no more than the batch";
    learner.Publish("default", version);
    learner.Release(4, version);
  }
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() >= 18; }));
  learner.SayGoaway(false);  // lost: both play on
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return client->should_stop(); }));
  player.join();
}

TEST(Client, WhoWaitsForMoreThanASecondIsNamedInTheLog) {
  std::mutex mutex;
  std::string log;
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address, {.without_policy = WithoutPolicy::kWait,
                                      .log = [&](LogLevel, std::string_view text) {
                                        std::lock_guard lock(mutex);
                                        log += std::string(text) + "\n";
                                      }});
  Game game(*client);
  std::thread player([&] { game.Step(); });
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] {
                      std::lock_guard lock(mutex);
                      return log.find("1 agents have waited for weights") != log.npos;
                    }));
  learner.Publish("default", 1);
  player.join();
}

TEST(Client, AgentsOfOneThreadDoNotWaitForEachOtherForEver) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.outstanding = 2, .batch = 2, .release = false});
  auto client = MustConnect(address, {.pace = Pace::kCredit});
  Game one(*client), two(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  // The first to finish waits for a batch that lacks what the other has finished and cannot hand
  // over before its own next turn.
  std::atomic<bool> played{false};
  std::thread player([&] {
    for (int i = 0; i < 40; ++i) one.Step(), two.Step();
    played = true;
  });
  EXPECT_TRUE(Until(
      [&] {
        learner.PollOnce();
        if (learner.received.size() >= 2) learner.Release(2, 1);
      },
      [&] { return played.load(); }));
  player.join();
}

}  // namespace
}  // namespace murmurate
