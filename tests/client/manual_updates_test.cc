// Updates::kManual: weights are taken up where the game has time for it, and nowhere else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/client/c_abi/stage.h"
#include "tests/client/game.h"

namespace murmurate {
namespace {

class ManualUpdates : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SharedMemoryAndNetwork, ManualUpdates, testing::Bool());

TEST_P(ManualUpdates, WeightsChangeInUpdateOnly) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {.trajectory_length = 4, .shm = GetParam()});
  auto client = MustConnect(address, {.updates = Updates::kManual});
  Game game(*client);
  const auto poll = [&] { learner.PollOnce(); };
  ASSERT_TRUE(
      Until(poll, [&] { return client->State().state == ClientState::kWaitingForWeights; }));
  // A game that waits for nothing loses play that its busy sender has not sent: it is slow here.
  const auto play = [&] {
    game.Step();
    EXPECT_TRUE(Until(poll, [&] {
      const auto& received = learner.received;
      const std::uint64_t come =
          received.empty() ? 0 : received.back()->view.first_step + received.back()->view.steps;
      return game.life.size() <= come + 8;
    }));
  };
  std::uint64_t version = 0;
  for (const std::uint64_t next : {1, 2, 3}) {
    learner.Publish("default", next);
    const std::size_t before = learner.received.size();
    ASSERT_TRUE(Until(play, [&] { return learner.received.size() >= before + 10; }));
    EXPECT_EQ(learner.received.back()->view.version, version);
    EXPECT_EQ(client->Stats().version, version);
    ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return client->Update() == 1; }));
    EXPECT_EQ(client->Update(), 0);
    version = next;
    EXPECT_EQ(client->Stats().version, version);
    EXPECT_EQ(client->Stats().weights_received, version);
    ASSERT_TRUE(Until(play, [&] { return learner.received.back()->view.version == version; }));
  }
  ExpectAsLived(learner.received, game, SmallSpec());
}

TEST(ManualUpdates, ThereIsNoThreadForThem) {
  const long before = CountThreads("mmr-weights");
  auto client = MustConnect(FreshAddress(), {.updates = Updates::kManual});
  EXPECT_TRUE(Soon([] { return CountThreads("mmr-client") >= 1; }));
  EXPECT_EQ(CountThreads("mmr-weights"), before);
}

TEST(ManualUpdates, TheStateSaysWhatIsToBeDone) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address, {.updates = Updates::kManual});
  Game game(*client);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kWaitingForWeights; }));
  EXPECT_THAT(client->State().reason, testing::HasSubstr("call Update()"));
}

TEST(ManualUpdates, WhoWaitsForWeightsMustNotHaveToFetchThem) {
  for (const ClientOptions& options :
       {ClientOptions{.pace = Pace::kCredit, .updates = Updates::kManual},
        ClientOptions{.pace = Pace::kLockstep, .updates = Updates::kManual},
        ClientOptions{.without_policy = WithoutPolicy::kWait, .updates = Updates::kManual}}) {
    const auto client = Client::Connect(FreshAddress(), options);
    ASSERT_FALSE(client.ok());
    EXPECT_THAT(client.status().message(), testing::HasSubstr("use Pace::kNever without kWait"));
  }
}

TEST(ManualUpdates, OthersHaveNothingToUpdate) {
  auto client = MustConnect(FreshAddress());
  EXPECT_EQ(client->Update(), 0);
}

}  // namespace
}  // namespace murmurate
