// Agents that come and go, several models, paces, evaluation, saving: over real sockets.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "client/platform.h"
#include "client/weights_receiver.h"
#include "tests/client/game.h"

namespace murmurate {
namespace {

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

/// Publishes one more version just after every look at it.
class BusyWriter : public WeightSubscriber {
 public:
  bool ReceiveNewer(const VersionStamp&, WeightSink*) override {
    word_.fetch_add(1);
    return false;
  }
  const FutexWord* word() const override { return &word_; }
  bool writer_alive() const override { return true; }

 private:
  FutexWord word_{0};
};

TEST(Client, NoVersionIsSleptThrough) {
  WeightsReceiver receiver({});
  const auto model = std::make_shared<ClientModel>("m", SmallSpec().spaces, ClientOptions{},
                                                   std::make_shared<SenderWakeup>(),
                                                   std::make_shared<SettingsTable>());
  receiver.Subscribe(model, std::make_shared<PolicySet>(SmallSpec(), model->pins),
                     std::make_shared<BusyWriter>());
  std::int64_t quickest_ns = kNanosecondsPerSecond;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t start = MonotonicNs();
    receiver.PollOnce();
    quickest_ns = std::min(quickest_ns, MonotonicNs() - start);
  }
  EXPECT_LT(quickest_ns, 900 * kNanosecondsPerMillisecond) << "the sleep of 1 s was slept";
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

/// Plays until 100 episodes of training have arrived; how many evaluated ones did.
int EvaluatedBeside100(Pace pace, double share) {
  const std::string address = FreshAddress();
  TestLearner learner(
      address,
      {.trajectory_length = 4, .outstanding = 10'000, .batch = 10'000, .evaluation_share = share});
  auto client = MustConnect(address, {.pace = pace});
  Agent agent = client->NewAgent({.observation = Box({3}), .action = Discrete(4)});
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  const std::vector<float> observation(3);
  std::size_t looked_at = 0;
  int evaluated = 0, trained = 0;
  const auto play = [&] {
    agent.Act(observation), agent.Act(observation);
    agent.End(kTerminated);
    learner.PollOnce();
    for (; looked_at < learner.received.size(); ++looked_at) {
      const TrajectoryView& view = learner.received[looked_at]->view;
      for (const EpisodeRecord& one : view.episodes) ++(one.mode == 2 ? evaluated : trained);
    }
  };
  EXPECT_TRUE(Until(play, [&] { return trained >= 100; }));
  return evaluated;
}

TEST(Client, EvaluatesTheShareThatItsLearnerAsksForUnlessItPlaysInLockStep) {
  EXPECT_GT(EvaluatedBeside100(Pace::kNever, 0.25), 10);
  EXPECT_GT(EvaluatedBeside100(Pace::kCredit, 0.25), 10);
  EXPECT_EQ(EvaluatedBeside100(Pace::kNever, 0.0), 0) << "as an older learner says";
  EXPECT_EQ(EvaluatedBeside100(Pace::kLockstep, 0.25), 0);
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
  std::atomic<bool> played{false};
  std::thread player([&] {
    game.Step();
    played = true;
  });
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] {
                      std::lock_guard lock(mutex);
                      return log.find("1 agents have waited for weights") != log.npos;
                    }));
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return played.load(); }));
  client.reset();  // whatever failed: nobody waits for one that is gone
  player.join();
}

TEST(Client, AgentsOfOneThreadDoNotWaitForEachOtherForEver) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.outstanding = 2, .batch = 2, .release = false});
  // Both record from their first step on, so that both finish in the same round.
  auto client =
      MustConnect(address, {.pace = Pace::kCredit, .without_policy = WithoutPolicy::kWait});
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
