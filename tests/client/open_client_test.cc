// A client of a policy file has no thread of its own: what others leave to mmr-client, the game's
// own calls do.
#include <gmock/gmock.h>
#include <malloc.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <stdexcept>

#include "tests/client/game.h"
#include "tests/sanitized.h"

namespace murmurate {
namespace {

/// The policy of a learner that was there for a moment.
std::string SomePolicy() {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address);
  Game game(*client);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
  const std::string path = testing::TempDir() + "/open-" + std::to_string(ProcessId());
  EXPECT_TRUE(client->Save(path).ok());
  return path;
}

class OpenClient : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = SomePolicy();
    auto opened = Client::Open(
        {.policy = PolicySource::FromFile(path),
         .log = [this](LogLevel, std::string_view text) { said_.emplace_back(text); }});
    std::filesystem::remove(path);
    ASSERT_TRUE(opened.ok()) << opened.status();
    client_ = *std::move(opened);
  }
  void SpawnPlayAndDespawn() {
    Agent agent = client_->NewAgent({.observation = Box({3}), .action = Discrete(4)});
    ASSERT_TRUE(agent.valid()) << client_->last_error();
    const float sees[3] = {1, 2, 3};
    agent.Act(sees);
  }
  std::unique_ptr<Client> client_;
  std::vector<std::string> said_;
};

TEST_F(OpenClient, AgentsThatAreClosedLeaveNothing) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's allocator counts nothing";
  for (int i = 0; i < 50; ++i) SpawnPlayAndDespawn();
  const std::size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 500; ++i) SpawnPlayAndDespawn();
  EXPECT_LT(mallinfo2().uordblks, before + 20'000) << "bytes; an agent has more than 1000";
  EXPECT_EQ(client_->Stats().steps, 550u);
}

TEST_F(OpenClient, WhatAnAgentHadToSayIsSaidThoughItIsGone) {
  {
    Agent agent = client_->NewAgent({.observation = Box({3}), .action = Discrete(4)});
    const float sees[3] = {1, NAN, 3};
    agent.Act(sees);
  }
  SpawnPlayAndDespawn();
  ASSERT_EQ(said_.size(), 1u);
  EXPECT_THAT(said_[0], testing::HasSubstr("agent 0 of model default: "));
}

TEST(ClientThreads, ALogCallbackThatThrowsCostsTheGameNothing) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  std::atomic<int> calls{0};
  auto client = MustConnect(address, {.log = [&](LogLevel, std::string_view) {
                              ++calls;
                              throw std::runtime_error("no room in the log");
                            }});
  Game game(*client);
  const float nan[3] = {NAN, NAN, NAN};
  game.agent.Act(nan);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return calls > 1; }));
  game.agent.Discard();
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  EXPECT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return client->State().state == ClientState::kLive; }));
}

}  // namespace
}  // namespace murmurate
