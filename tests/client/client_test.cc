#include "murmurate/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "shared/model/policy_and_value.h"
#include "tests/client/game.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

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
  EXPECT_EQ(client->State().state, ClientState::kWaitingForWeights) << "said before it is sent";
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(); },
                    [&] { return learner.received.back()->view.version == 1; }));
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }))
      << client->State().reason;
  EXPECT_EQ(client->Stats().version, 1u);
}

bool AnyChanges(const TestLearner& learner) {
  return std::ranges::any_of(learner.received,
                             [](const auto& one) { return !one->view.changes.empty(); });
}

/// Plays until so many trajectories have come, a version for every twenty.
void PlayAndPublish(Game& game, TestLearner& learner, std::size_t trajectories) {
  std::uint64_t version = 1;
  EXPECT_TRUE(Until(
      [&] {
        game.Step(), learner.PollOnce(0);
        if (learner.received.size() / 20 >= version) learner.Publish("default", ++version);
      },
      [&] { return learner.received.size() >= trajectories; }));
}

TEST(Client, ATrajectoryIsOfOneVersionForALearnerThatDoesNotAskForMore) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.changes = false});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  PlayAndPublish(game, learner, 200);
  EXPECT_GE(learner.received.back()->view.version, 3u);
  EXPECT_FALSE(AnyChanges(learner));
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

TEST_P(ClientOverBothPaths, AnOpenTrajectoryGoesOnUnderNewerWeights) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.shm = GetParam()});
  auto client = MustConnect(address);
  Game game(*client);
  const auto publish = [&](std::uint64_t version) {
    learner.Publish("default", version);
    return Until([&] { learner.PollOnce(); }, [&] { return client->Stats().version == version; });
  };
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  ASSERT_TRUE(publish(1));
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  for (int i = 0; i < 4; ++i) game.Step();
  ASSERT_TRUE(publish(5));
  for (int i = 4; i < 17; ++i) game.Step();
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return !learner.received.empty(); }));
  const TrajectoryView& view = learner.received[0]->view;
  EXPECT_EQ(view.steps, 16);
  EXPECT_EQ(VersionAt(view, 3), 1u);
  EXPECT_EQ(VersionAt(view, 4), 5u);
  ExpectAsLived(learner.received, game, SmallSpec());
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
  game.Step();
  for (std::size_t count = 1; count <= 8; ++count) {
    for (int i = 0; i < 16; ++i) game.Step();
    ASSERT_TRUE(
        Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() == count; }));
  }
  for (int i = 0; i < 16 * 20; ++i) game.Step();
  const ClientStats stats = client->Stats();
  const std::size_t dropped = stats.trajectories_dropped;
  EXPECT_GE(dropped, 13u) << "of 20; seven wait, and one block is being filled";
  EXPECT_LE(dropped, 14u) << "libzmq may hold the block of the last that arrived a moment longer";
  EXPECT_LE(stats.steps_dropped, dropped * 16);
  EXPECT_GE(stats.steps_dropped, dropped * 14) << "a second truncation hands over, 13 steps on";
  // Credit again: what waits arrives, and then a trajectory at a time, with what was told too late.
  int released = 0;
  const auto take = [&] {
    if (const auto count = static_cast<int>(learner.received.size()) - released; count > 0) {
      learner.Release(count, 1);
      released += count;
    }
    learner.PollOnce();
  };
  const std::size_t kept = 8 + 20 - dropped;
  ASSERT_TRUE(Until(take, [&] { return learner.received.size() == kept; }));
  for (std::size_t count = kept + 1; count < kept + 5; ++count) {
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
  EXPECT_TRUE(Until([&] { learner->PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
}

TEST(Client, WhatWasPlayedAtRandomForAnotherModelIsNotSent) {
  const std::string address = FreshAddress();
  auto client = MustConnect(address);
  Game game(*client);
  PolicyAndValue other = SmallSpec();
  other.trunk[0].units = 16;  // its blocks have the same layout
  {
    TestLearner first(address, {.outstanding = 0, .model = other});
    ASSERT_TRUE(Until([&] { first.PollOnce(); },
                      [&] { return client->State().state == ClientState::kWaitingForWeights; }));
    for (int i = 0; i < 33; ++i) game.Step();
    EXPECT_TRUE(first.received.empty());
  }
  TestLearner second(address, {.incarnation = 200});
  EXPECT_TRUE(
      Until([&] { second.PollOnce(); }, [&] { return client->Stats().trajectories_dropped >= 2; }));
  EXPECT_TRUE(second.received.empty());
}

TEST(Client, AVersionThatCannotBePlayedDegradesALockstepClientAndItPlaysOn) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.batch = 1, .release = false});
  auto client =
      MustConnect(address, {.pace = Pace::kLockstep, .without_policy = WithoutPolicy::kWait});
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  std::atomic<int> steps{0};
  std::thread player([&] {
    for (int i = 0; i < 40; ++i) game.Step(), ++steps;
  });
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() == 1; }));
  learner.Publish("default", 2, {.mode = ActSettings::Mode::kGaussian, .sigma = 1.0f});
  learner.Release(1, 2);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() == 2; }));
  StateReport state;
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] {
                      state = client->State();
                      return state.state == ClientState::kDegraded;
                    }));
  EXPECT_NE(state.reason.find("version 2 of model default cannot be played"), std::string::npos)
      << state.reason;
  learner.Release(1, 2);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return steps.load() == 40; }));
  player.join();
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

TEST(Client, PlaysSixtyFiveThousandAgentsAtMost) {
  auto client = *Client::Connect("ipc:///nobody/listens/here");
  const AgentOptions options{.observation = Box({1}), .action = Discrete(2)};
  AgentGroup group = client->NewAgentGroup(options, 65'536);
  EXPECT_EQ(group.size(), 65'536) << client->last_error();
  const Agent another = client->NewAgent(options);
  EXPECT_EQ(client->last_error().message(),
            "a client plays at most 65536 agents: connect a second client for more");
}

}  // namespace
}  // namespace murmurate
