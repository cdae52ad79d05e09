// Who may send how much: bytes bound memory, steps bound how late experience is.
#include <gmock/gmock.h>

#include <numeric>

#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

TEST_F(ServerSessionTest, GrantedTrajectoriesNeverExceedTheLimitUntilReleased) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_EQ(a.granted(), 8);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(Send(a).accept);
  Deliver({&a});
  EXPECT_EQ(a.granted(), 8) << "two batches wait to be trained on";
  session_.ReleaseTrajectories(0, 4, 1, now_);
  Deliver({&a});
  EXPECT_EQ(a.granted(), 12);
  session_.ReleaseTrajectories(0, 4, 2, now_);
  Deliver({&a});
  EXPECT_EQ(a.granted(), 16);
}

TEST_F(ServerSessionTest, BatchThatClosedEarlyReleasesItsRealNumber) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11);
  Join(a);
  for (int i = 0; i < 3; ++i) Send(a);
  session_.ReleaseTrajectories(0, 3, 1, now_);
  Deliver({&a});
  EXPECT_EQ(a.granted(), 11);
  session_.ReleaseTrajectories(0, 100, 1, now_);  // more than there were: no credit out of nothing
  Deliver({&a});
  EXPECT_EQ(a.granted(), 11);
}

TEST_F(ServerSessionTest, AnotherShapeOfBatchesIsToldToAllWhoPlayAndCreditIsForIt) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Send(a).accept);
  Deliver({&a, &b});
  const int welcomes = a.welcomes;
  const std::uint64_t session = a.ok.session;
  const std::uint64_t granted = a.steps_total / kLength;

  session_.SetBatch(
      0, {.trajectory_length = kLength / 4, .batch_trajectories = 16, .outstanding_limit = 32});
  Deliver({&a, &b});
  EXPECT_EQ(a.welcomes, welcomes + 1);
  EXPECT_EQ(a.ok.session, session) << "the session goes on";
  EXPECT_EQ(a.ok.number, a.hello.number);
  ASSERT_EQ(a.ok.models.size(), 1u);
  EXPECT_EQ(a.ok.models[0].trajectory_length, kLength / 4u);
  EXPECT_EQ(a.ok.models[0].agent_indices.size(), a.hello.models[0].agents.size());
  EXPECT_GT(a.steps_total / (kLength / 4), granted) << "of the larger limit";
  EXPECT_EQ((a.steps_total + b.steps_total) / (kLength / 4), 32u);
  EXPECT_TRUE(Send(a).accept);
  Client c = MakeClient("c", 13);
  Join(c);
  EXPECT_EQ(c.ok.models[0].trajectory_length, kLength / 4u);
}

TEST_F(ServerSessionTest, TheShapeThatIsToldLastIsTheNewestAlsoWhenHelloWasRepeated) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11);
  SayHello(a);
  SayHello(a);
  session_.SetBatch(
      0, {.trajectory_length = kLength / 4, .batch_trajectories = 16, .outstanding_limit = 32});
  Deliver({&a});
  EXPECT_EQ(a.welcomes, 2) << "an answer to each";
  EXPECT_EQ(a.ok.models[0].trajectory_length, kLength / 4u);
}

TEST_F(ServerSessionTest, TrajectoryBeyondTheStepsGrantedIsRefused) {
  AddNpc(2, 1);
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_TRUE(Send(a).accept);
  EXPECT_TRUE(Send(a).accept);
  EXPECT_FALSE(Send(a).accept);
  Deliver({&a});
  ASSERT_EQ(a.errors.size(), 1u);
  EXPECT_EQ(a.errors[0].refusal, Refusal::kCredit);
  EXPECT_EQ(a.errors[0].sequence, 3u);
  session_.ReleaseTrajectories(0, 2, 1, now_);
  Deliver({&a});
  EXPECT_TRUE(Send(a).accept);
}

TEST_F(ServerSessionTest, BlockOfEpisodesAloneCostsNoSteps) {
  AddNpc(1, 1);
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_TRUE(Send(a, 0, 0).accept);
  EXPECT_TRUE(Send(a, 0, 0).accept);
  EXPECT_TRUE(Send(a).accept);
  EXPECT_EQ(Report(a).trajectories, 1u);
}

TEST_F(ServerSessionTest, ShortTrajectoryCostsAWholeOne) {
  AddNpc(2, 1);
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_TRUE(Send(a, 0, 1).accept);
  EXPECT_TRUE(Send(a, 0, 1).accept);
  EXPECT_FALSE(Send(a, 0, 1).accept);
}

TEST_F(ServerSessionTest, CreditIsSharedByAgents) {
  AddNpc(12, 6);
  Client a = MakeClient("a", 11, {0, 1}), b = MakeClient("b", 12, {0});
  SayHello(a);
  SayHello(b);
  Deliver({&a, &b});
  EXPECT_EQ(a.granted(), 12) << "it was alone when it came";
  EXPECT_EQ(b.granted(), 4) << "its fair part of twelve, without waiting for the other's";
  // From then on each is given what it lacks: both play at the same speed per agent.
  for (int round = 0; round < 30; ++round) {
    for (Client* client : {&a, &b}) {
      const int each = client == &a ? 2 : 1;
      for (int i = 0; i < each && static_cast<int>(client->sequence) < client->granted(); ++i) {
        ASSERT_TRUE(Send(*client).accept);
        session_.ReleaseTrajectories(0, 1, 1, now_);
      }
    }
    Deliver({&a, &b});
  }
  const int held_a = a.granted() - static_cast<int>(a.sequence);
  const int held_b = b.granted() - static_cast<int>(b.sequence);
  EXPECT_EQ(held_a + held_b, 12);
  EXPECT_EQ(held_b, 4);
}

TEST_F(ServerSessionTest, CreditOfOneWhoLeavesGoesToTheOthers) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  for (int i = 0; i < 8; ++i) {
    Send(a);
    session_.ReleaseTrajectories(0, 1, 1, now_);
  }
  Deliver({&a, &b});
  EXPECT_EQ(a.granted() - 8, 4);
  EXPECT_EQ(b.granted(), 4);
  Say(b, Bye{});
  Deliver({&a});
  EXPECT_EQ(a.granted() - 8, 8);
}

TEST_F(ServerSessionTest, StalledSenderHoldsNobodyUpAndIsStillTakenLater) {
  AddNpc(4, 2);
  Client slow = MakeClient("slow", 11), fast = MakeClient("fast", 12);
  Join(slow);
  Join(fast);
  const int slow_held = slow.granted();
  EXPECT_EQ(slow_held, 4);
  EXPECT_EQ(fast.granted(), 2);
  for (int i = 0; i < 4; ++i) {
    Pass(kSecond);
    Say(fast, Ping{});
  }
  Deliver({&slow, &fast});
  EXPECT_EQ(Report(slow).health, ServerSession::ActorReport::Health::kStalled);
  EXPECT_EQ(fast.granted(), 4) << "what the stalled one held was given on";
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Send(fast).accept);
  for (int i = 0; i < slow_held; ++i) EXPECT_TRUE(Send(slow).accept) << "its totals still said so";
  EXPECT_FALSE(Send(slow).accept);
  EXPECT_EQ(Refused(Refusal::kCredit), 1u);
}

TEST_F(ServerSessionTest, PausedGameHoldsNobodyUp) {
  AddNpc(4, 4);
  Client paused = MakeClient("paused", 11), fast = MakeClient("fast", 12);
  Join(paused);
  Join(fast);
  int taken = 0;
  for (int second = 0; second < 12; ++second) {
    Pass(kSecond);
    Say(paused, Ping{0, {{5, 0, 0}}});
    Say(fast, Ping{0, {{static_cast<std::uint64_t>(second), 0, 0}}});
    Deliver({&paused, &fast});
    while (static_cast<int>(fast.sequence) < fast.granted()) taken += Send(fast).accept;
  }
  EXPECT_EQ(taken, 4) << "a whole batch, though the paused one was promised part of it";
  EXPECT_EQ(session_.live_agents(0), 1) << "no batch waits for it";
  Say(paused, Ping{0, {{6, 0, 0}}});
  EXPECT_EQ(session_.live_agents(0), 2);
}

TEST_F(ServerSessionTest, EverybodyGetsATurnWhenThereAreMoreAgentsThanTrajectories) {
  AddNpc(2, 2);
  std::vector<Client> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(MakeClient("c" + std::to_string(i), 100 + static_cast<std::uint64_t>(i)));
    Join(clients.back());
  }
  for (int round = 0; round < 200; ++round) {
    for (Client& client : clients) {
      while (static_cast<int>(client.sequence) < client.granted()) {
        ASSERT_TRUE(Send(client).accept);
        session_.ReleaseTrajectories(0, 1, 1, now_);
      }
    }
    for (const auto& reply : session_.PopReplies()) {
      for (Client& client : clients) {
        if (client.peer == reply.peer) Hand(client, reply);
      }
    }
  }
  std::vector<std::uint64_t> sent;
  for (const Client& client : clients) sent.push_back(client.sequence);
  const auto [least, most] = std::minmax_element(sent.begin(), sent.end());
  EXPECT_GT(*least, 20u);
  EXPECT_LE(*most - *least, 3u);
}

class FourBlocksOfBytes : public ServerSessionTest {
 protected:
  FourBlocksOfBytes() : ServerSessionTest({.ingest_budget_bytes = 4 * kBlockBytes}) {}
};

TEST_F(FourBlocksOfBytes, BytesBoundWhatMayBeUnderWay) {
  AddNpc(100, 50);
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_GE(a.bytes_total, kBlockBytes);
  EXPECT_LE(a.bytes_total, 4 * kBlockBytes);
  const Decoded first = Trajectory(a, 1), second = Trajectory(a, 2);
  ASSERT_TRUE(session_.OnExperience("a", first, now_).accept);
  ASSERT_FALSE(session_.OnExperience("a", second, now_).accept) << "the first is not dealt with";
  EXPECT_EQ(Refused(Refusal::kCredit), 1u);
  const std::uint64_t before = a.bytes_total;
  session_.Acknowledge("a", first, Refusal::kNone, "", now_);
  Deliver({&a});
  EXPECT_EQ(a.bytes_total, before + kBlockBytes);
  EXPECT_TRUE(session_.OnExperience("a", Trajectory(a, 3), now_).accept);
}

TEST_F(FourBlocksOfBytes, EveryActorHasAReserveOfOneTrajectoryAndTheFifthIsBusy) {
  AddNpc(100, 50);
  std::vector<Client> clients;
  for (std::uint64_t i = 0; i < 5; ++i) {
    clients.push_back(MakeClient("c" + std::to_string(i), i + 1));
    Join(clients.back());
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(clients[i].bytes_total, kBlockBytes);
    EXPECT_TRUE(Send(clients[i]).accept);
  }
  EXPECT_EQ(clients[4].welcomes, 0);
  EXPECT_EQ(clients[4].errors.at(0).refusal, Refusal::kBusy);
  Say(clients[0], Bye{});
  Join(clients[4]);
  EXPECT_EQ(clients[4].welcomes, 1);
}

TEST_F(ServerSessionTest, LockstepGivesOneBatchInEqualSharesAndNoMoreUntilItIsTrained) {
  AddNpc(16, 8, 4);
  session_.SetVersion(0, 1);
  Client a = MakeClient("a", 11, {0, 1}, Pace::kLockstep);
  Client b = MakeClient("b", 12, {0, 1}, Pace::kLockstep);
  Join(a);
  EXPECT_EQ(a.granted(), 0) << "not before all four agents are here";
  SayHello(b);
  Deliver({&a, &b});
  EXPECT_EQ(a.granted(), 4);
  EXPECT_EQ(b.granted(), 4);
  EXPECT_EQ(a.at_version, 1u);
  EXPECT_TRUE(session_.any_lockstep());
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(Send(a, i % 2).accept);
    EXPECT_TRUE(Send(b, i % 2).accept);
  }
  Deliver({&a, &b});
  EXPECT_EQ(a.granted(), 4);
  session_.ReleaseTrajectories(0, 8, 2, now_);
  Deliver({&a, &b});
  EXPECT_EQ(a.granted(), 8);
  EXPECT_EQ(b.granted(), 8);
  EXPECT_EQ(a.at_version, 2u);
  EXPECT_EQ(b.at_version, 2u);
}

TEST_F(ServerSessionTest, LockstepDividesWhatIsLeftOverByTurns) {
  AddNpc(16, 4);
  Client a = MakeClient("a", 11, {0, 1, 2}, Pace::kLockstep);
  Client b = MakeClient("b", 12, {0}, Pace::kLockstep);
  b.hello.models[0].agents = {};
  Join(b);
  b.hello.models[0].agents = {0, 1};
  a.hello.models[0].agents = {};
  Join(a);
  a.hello.models[0].agents = {0};
  SayHello(b);  // two agents: 2 + 2
  Deliver({&a, &b});
  EXPECT_EQ(b.granted(), 4);
  for (int i = 0; i < 4; ++i) Send(b, i % 2);
  SayHello(a);  // in the middle of the batch: waits for the next
  Deliver({&a, &b});
  EXPECT_EQ(a.granted(), 0);
  session_.ReleaseTrajectories(0, 4, 1, now_);
  Deliver({&a, &b});
  EXPECT_EQ(a.granted() + b.granted() - 4, 4) << "three agents share four: one has two";
  EXPECT_GE(a.granted(), 1);
}

TEST_F(ServerSessionTest, LockstepBatchIsCompletedByTheOthersWhenOneDies) {
  AddNpc(16, 4, 2);
  Client a = MakeClient("a", 11, {0}, Pace::kLockstep);
  Client b = MakeClient("b", 12, {0}, Pace::kLockstep);
  SayHello(a);
  SayHello(b);
  Deliver({&a, &b});
  EXPECT_EQ(a.granted(), 2);
  Send(b);
  session_.OnUnreachable("b", now_);
  Deliver({&a});
  EXPECT_EQ(a.granted(), 3) << "one of b's two was delivered, the other is a's now";
}

TEST_F(ServerSessionTest, LockstepTrajectoryThatIsRefusedMayBePlayedAgain) {
  AddNpc(16, 2);
  Client a = MakeClient("a", 11, {0}, Pace::kLockstep);
  Join(a);
  EXPECT_EQ(a.granted(), 2);
  const Decoded bad = Trajectory(a, ++a.sequence);
  ASSERT_TRUE(session_.OnExperience("a", bad, now_).accept);
  session_.Acknowledge("a", bad, Refusal::kNotFinite, "reward of step 0: got nan", now_);
  Deliver({&a});
  EXPECT_EQ(a.granted(), 3);
}

TEST_F(ServerSessionTest, LockstepCountsStepsByTrajectoriesAlone) {
  AddNpc(16, 4);
  Client a = MakeClient("a", 11, {0}, Pace::kLockstep);
  Join(a);
  Say(a, Ping{0, {{500, 0, 0}}});
  EXPECT_EQ(session_.EnvironmentSteps(0), 0u) << "when a PING comes is a matter of time";
  Send(a);
  EXPECT_EQ(session_.EnvironmentSteps(0), 8u);
}

TEST_F(ServerSessionTest, BlockDealtWithAfterItsSenderLeftStillCountsInThePool) {
  AddNpc(2, 2);
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  const Decoded message = Trajectory(a, 1);
  ASSERT_TRUE(session_.OnExperience("a", message, now_).accept);
  Say(a, Bye{});
  session_.Acknowledge("a", message, Refusal::kNone, "", now_);
  Join(b);
  EXPECT_EQ(b.granted(), 1) << "one of the two is taken until it is released";
  session_.ReleaseTrajectories(0, 1, 1, now_);
  Deliver({&b});
  EXPECT_EQ(b.granted(), 2);
}

}  // namespace
}  // namespace murmurate::wire
