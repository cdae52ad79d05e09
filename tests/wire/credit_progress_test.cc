// Whatever the number of agents, clients and trajectories of a batch: everybody plays on. A client
// here is one thread that plays its agents in turn, as a game does, and stops where one of them has
// no credit for its next trajectory.
#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

struct Shape {
  int clients = 1, agents = 1, batch = 1, ahead = 2;
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << shape.clients << " clients of " << shape.agents << " agents, batches of "
             << shape.batch << ", " << shape.ahead << " ahead";
}

class CreditProgress : public ServerSessionTest {
 protected:
  /// Steps of the trajectory that each agent has open, -1: none, and how many it will have. The
  /// first ones differ, so that agents finish at different times.
  struct Player {
    Client client;
    std::vector<int> steps, wanted;
    std::size_t turn = 0;
    int begun = 0;
  };

  void Enter(const Shape& shape) {
    shape_ = shape;
    AddNpc(shape.ahead * shape.batch, shape.batch);
    std::vector<std::uint32_t> numbers;
    for (int i = 0; i < shape.agents; ++i) numbers.push_back(static_cast<std::uint32_t>(i));
    for (int i = 0; i < shape.clients; ++i) {
      const std::string peer = "p" + std::to_string(i);
      players_.push_back(
          {MakeClient(peer, 100 + static_cast<std::uint64_t>(i), numbers, Pace::kCredit),
           std::vector<int>(numbers.size(), -1),
           {}});
      for (int agent = 0; agent < shape.agents; ++agent)
        players_.back().wanted.push_back(1 + (3 * agent + 5 * i) % kLength);
      SayHello(players_.back().client);
    }
    Told();
  }
  void Told() {
    for (const ServerSession::Reply& reply : session_.PopReplies()) {
      for (Player& player : players_) {
        if (player.client.peer == reply.peer) Hand(player.client, reply);
      }
    }
  }
  /// One Act of the agent whose turn it is; false: it waits for credit.
  bool Act(Player& player) {
    int& steps = player.steps[player.turn];
    int& wanted = player.wanted[player.turn];
    if (steps == wanted) {
      EXPECT_TRUE(Send(player.client, static_cast<std::uint32_t>(player.turn), steps).accept);
      ++delivered_;
      steps = -1;
      wanted = kLength;
      moved_ = true;
    }
    if (steps < 0) {
      if (player.begun == player.client.granted()) return false;
      ++player.begun;
      steps = 0;
    }
    moved_ = true;
    ++steps;
    player.turn = (player.turn + 1) % player.steps.size();
    return true;
  }
  /// Everybody plays until it waits or has played `most` steps, then the learner takes what is
  /// full.
  bool Round(int most) {
    moved_ = false;
    for (Player& player : players_) {
      for (int i = 0; i < most && Act(player); ++i) {
      }
      Told();
    }
    for (; delivered_ - trained_ >= shape_.batch; trained_ += shape_.batch) {
      session_.ReleaseTrajectories(0, shape_.batch, ++version_, now_);
      moved_ = true;
    }
    Told();
    most_under_way_ = std::max(most_under_way_, UnderWay());
    return moved_;
  }
  int UnderWay() const {
    int held = delivered_ - trained_;
    for (const Player& player : players_)
      held += player.client.granted() - static_cast<int>(player.client.sequence);
    return held;
  }

  Shape shape_;
  std::vector<Player> players_;
  int delivered_ = 0, trained_ = 0, most_under_way_ = 0;
  bool moved_ = false;
  std::uint64_t version_ = 1;
};

class EveryShape : public CreditProgress, public testing::WithParamInterface<Shape> {};

TEST_P(EveryShape, PlaysOnAndLeavesNobodyOut) {
  Enter(GetParam());
  const int agents = shape_.clients * shape_.agents;
  const int rounds = 400 + 40 * agents * kLength;
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(Round(1 + round % 7)) << "everybody waits for everybody in round " << round;
    if (round < rounds / 2) most_under_way_ = 0;  // the first ones were alone for a while
  }
  EXPECT_GE(trained_, 10 * shape_.batch);
  for (const Player& player : players_) {
    EXPECT_GE(player.client.sequence, 2u * static_cast<std::uint64_t>(shape_.agents))
        << player.client.peer;
  }
  EXPECT_LE(most_under_way_, shape_.ahead * shape_.batch + agents) << "and no more than that";
}

std::vector<Shape> Shapes() {
  std::vector<Shape> shapes;
  for (const int clients : {1, 2, 5})
    for (const int agents : {1, 2, 3, 8, 30})
      for (const int batch : {1, 2, 3, 8})
        for (const int ahead : {2, 4}) shapes.push_back({clients, agents, batch, ahead});
  return shapes;
}

INSTANTIATE_TEST_SUITE_P(Shapes, EveryShape, testing::ValuesIn(Shapes()));

TEST_F(CreditProgress, TenThousandAgentsOfOneThreadPlayForBatchesOfEight) {
  Enter({1, 10'000, 8, 2});
  EXPECT_EQ(players_[0].client.granted(), 10'000);
  for (int round = 0; round < 40'000 && delivered_ < 30'000; ++round) ASSERT_TRUE(Round(20'000));
  EXPECT_GE(delivered_, 30'000);
}

TEST_F(CreditProgress, WhoHasOneAgentIsNotKeptOutByWhoHasAHundred) {
  AddNpc(4, 2);
  std::vector<std::uint32_t> numbers(100);
  for (std::uint32_t i = 0; i < 100; ++i) numbers[i] = i;
  Client many = MakeClient("many", 1, numbers, Pace::kCredit);
  Client one = MakeClient("one", 2, {0}, Pace::kCredit);
  Join(many);
  Join(one);
  EXPECT_EQ(many.granted(), 100);
  EXPECT_EQ(one.granted(), 1);
}

TEST_F(CreditProgress, TurnsOfTwoModelsThatOneThreadPlaysCannotMissEachOther) {
  AddNpc(2, 1);
  const std::uint32_t npc = models_["npc"];
  AddNpc(2, 1);
  models_["boss"] = std::exchange(models_["npc"], npc);
  std::map<std::string, std::map<std::size_t, std::uint64_t>> granted;
  for (int i = 0; i < 5; ++i) {
    Client client = MakeClient("p" + std::to_string(i), 100 + static_cast<std::uint64_t>(i), {0, 1},
                               Pace::kCredit);
    client.hello.models.push_back({"boss", "good", {2, 3}, 0, 0});
    SayHello(client);
  }
  for (const ServerSession::Reply& reply : session_.PopReplies()) {
    if (const auto* ok = std::get_if<HelloOk>(&reply.body))
      for (std::size_t i = 0; i < 2; ++i) granted[reply.peer][i] = ok->models[i].steps_total;
    if (const auto* accepted = std::get_if<Accepted>(&reply.body))
      for (std::size_t i = 0; i < 2; ++i) granted[reply.peer][i] = accepted->models[i].steps_total;
  }
  ASSERT_EQ(granted.size(), 5u);
  for (const auto& [peer, models] : granted) {
    EXPECT_EQ(models.at(0), 2u * kLength) << peer;
    EXPECT_EQ(models.at(1), 2u * kLength) << peer;
  }
}

/// What is granted where there is room for all agents: as much as the limit says, no more.
TEST_F(CreditProgress, AgentsThatABatchHasRoomForHoldWhatTheLimitSays) {
  Enter({4, 2, 8, 2});
  for (int round = 0; round < 2000; ++round) {
    Round(1 + round % 7);
    if (round <= 100) continue;
    ASSERT_LE(UnderWay(), 16) << "the first ones were alone for a while";
  }
}

}  // namespace
}  // namespace murmurate::wire
