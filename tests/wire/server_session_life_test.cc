// How actors come, fall silent, are muted, counted, and leave.
#include <gmock/gmock.h>

#include "server/session/server_session.h"
#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

using Health = ServerSession::ActorReport::Health;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ServerSessionTest, HealthFollowsSilence) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_EQ(Report(a).health, Health::kLive);
  Pass(3 * kSecond);
  EXPECT_EQ(Report(a).health, Health::kLive);
  Pass(kMs);
  EXPECT_EQ(Report(a).health, Health::kStalled);
  EXPECT_EQ(Report(a).silent_ns, 3 * kSecond + kMs);
  EXPECT_EQ(session_.live_agents(0), 0);
  Say(a, Ping{});
  EXPECT_EQ(Report(a).health, Health::kLive);
  Pass(30 * kSecond + kMs);
  EXPECT_EQ(Report(a).health, Health::kGone);
  EXPECT_FALSE(Send(a).accept);
  EXPECT_EQ(Report(a).agents, 0);
}

TEST_F(ServerSessionTest, ByeFreesTheAgentsAtOnce) {
  AddNpc();
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Say(a, Bye{});
  EXPECT_EQ(Report(a).health, Health::kGone);
  Join(b);
  EXPECT_THAT(b.ok.models[0].agent_indices, ElementsAre(0));
}

TEST_F(ServerSessionTest, PingIsAnsweredWithTheNewestVersionAndCredit) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  session_.SetVersion(0, 9);
  Say(a, Ping{1234, {{100, 0, 8}}});
  const auto replies = session_.PopReplies();
  ASSERT_EQ(replies.size(), 1u);
  const auto& pong = std::get<Pong>(replies[0].body);
  EXPECT_EQ(pong.sent_ns, 1234);
  EXPECT_EQ(pong.incarnation, 77u);
  EXPECT_EQ(pong.models.at(0).version, 9u);
  EXPECT_EQ(pong.models.at(0).steps_total, a.steps_total);
}

TEST_F(ServerSessionTest, WhatAnActorSaysOfItsPlayIsReportedWithTheModelsNameWhileItIsHere) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Say(a, Ping{0, {{100, 30, 0}}, {{0, 3, 8, "NaN"}, {5, 0, 1, "of a model it does not play"}}});
  const auto troubles = Report(a).troubles;
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_EQ(troubles[0].Words(), "agent 3 of model npc: NaN (the same of 7 more agents)");
  Say(a, Ping{0, {{200, 30, 0}}});
  EXPECT_TRUE(Report(a).troubles.empty());
  Say(a, Ping{0, {{300, 30, 0}}, {{0, 0, 0, "too fast"}}});
  EXPECT_EQ(Report(a).troubles.at(0).Words(), "model npc: too fast");
  Say(a, Bye{});
  EXPECT_TRUE(Report(a).troubles.empty());
}

TEST_F(ServerSessionTest, WhoIsRefusedIsNamedWithTheReasonUntilItIsWelcomeOrAsksNoMore) {
  AddNpc();
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  a.hello.models[0].spaces = b.hello.models[0].spaces = "other";
  for (int i = 0; i < 3; ++i) SayHello(a), SayHello(b);
  auto refused = session_.RefusedActors(now_);
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_EQ(refused[0].name, "actor-a");
  EXPECT_EQ(refused[0].sentence, "action: expected discrete 2, got discrete 3");
  a.hello.models[0].spaces = "good";
  Join(a);
  refused = session_.RefusedActors(now_);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].name, "actor-b");
  Pass(30 * kSecond + kMs);
  EXPECT_TRUE(session_.RefusedActors(now_).empty());
  for (std::uint64_t i = 0; i < 40; ++i) {
    Client other = MakeClient("p" + std::to_string(i), 100 + i);
    other.hello.models[0].spaces = "other";
    SayHello(other);
  }
  EXPECT_EQ(session_.RefusedActors(now_).size(), 16u);
}

TEST_F(ServerSessionTest, StepsAreCountedByPingsAndByTrajectoriesWhicheverIsMore) {
  AddNpc();
  Client a = MakeClient("a", 11, {0, 1}), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  Send(a, 0);
  EXPECT_EQ(session_.EnvironmentSteps(0), 8u);
  Say(a, Ping{0, {{100, 30, 0}}});
  EXPECT_EQ(session_.EnvironmentSteps(0), 100u);
  EXPECT_EQ(session_.DroppedSteps(0), 30u);
  Say(a, Ping{0, {{90, 20, 0}}});
  EXPECT_EQ(session_.EnvironmentSteps(0), 100u);
  Send(b);
  EXPECT_EQ(session_.EnvironmentSteps(0), 108u);
  Say(b, Bye{});
  EXPECT_EQ(session_.EnvironmentSteps(0), 108u) << "who leaves keeps its count";
  EXPECT_EQ(Report(a).steps, 100u);
}

TEST_F(ServerSessionTest, StepsBeforeTheFirstTrajectoryHereAreAnotherLearners) {
  AddNpc();
  Client a = MakeClient("a", 11);
  a.agent_steps = 1'000'000;
  Join(a);
  Send(a);
  Send(a);
  EXPECT_EQ(session_.EnvironmentSteps(0), 16u);
}

TEST_F(ServerSessionTest, StormOfActorsThatComeAndGoLeavesABoundedBookAndTheRightCount) {
  AddNpc();
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    Client a = MakeClient(std::to_string(i), i);
    Join(a);
    Send(a);
    session_.ReleaseTrajectories(0, 1, 1, now_);
    Say(a, Bye{});
    (void)session_.PopReplies();
  }
  Pass(kMs);
  EXPECT_EQ(session_.Actors(now_).size(), 256u);
  EXPECT_EQ(session_.EnvironmentSteps(0), 1000u * 8);
}

TEST_F(ServerSessionTest, WhatForgottenActorsDidStaysCountedByTheirNames) {
  AddNpc();
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    Client a = MakeClient(i <= 300 ? "game" : std::to_string(i), i);
    Join(a);
    Send(a);
    session_.CountStaleness(i, 2);
    session_.ReleaseTrajectories(0, 1, 1, now_);
    Say(a, Bye{});
    (void)session_.PopReplies();
    Pass(kMs);
  }
  std::vector<ServerSession::ActorReport> forgotten;
  (void)session_.Actors(now_, &forgotten);
  EXPECT_EQ(forgotten.size(), 257u) << "a name each, and further ones together";
  std::uint64_t trajectories = 0, steps = 0, staleness = 0;
  for (const auto& actor : forgotten) {
    trajectories += actor.trajectories;
    steps += actor.steps;
    staleness += actor.staleness.ToHistogram().count();
    if (actor.name == "game") {
      EXPECT_EQ(actor.trajectories, 300u);
    }
    EXPECT_EQ(actor.health, ServerSession::ActorReport::Health::kGone);
  }
  EXPECT_EQ(trajectories, 744u);
  EXPECT_EQ(steps, 744u * 8);
  EXPECT_EQ(staleness, 744u);
}

TEST_F(ServerSessionTest, MessagesForOtherSocketsAreUnknownHere) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Say(a, Pull{});
  Deliver({&a});
  EXPECT_EQ(a.errors.at(0).refusal, Refusal::kUnknownType);
  EXPECT_TRUE(Send(a).accept);
}

TEST_F(ServerSessionTest, UndecodableMessagesAreAnsweredWithTheirReason) {
  AddNpc();
  session_.OnUndecodable("x", {Refusal::kUnknownType, "message type 13", 5, 9}, now_);
  const auto replies = session_.PopReplies();
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].peer, "x");
  EXPECT_EQ(std::get<Error>(replies[0].body).refusal, Refusal::kUnknownType);
  EXPECT_EQ(std::get<Error>(replies[0].body).sequence, 9u);
}

TEST_F(ServerSessionTest, WhoSendsMuchNonsenseIsMutedForAMinuteAndOthersAreNot) {
  AddNpc();
  Client honest = MakeClient("honest", 12);
  Join(honest);
  int answers = 0;
  for (int i = 0; i < 100; ++i) {
    session_.OnUndecodable("x", {Refusal::kMalformed, "noise", 0, 0}, now_);
    answers += Deliver({&honest})["x"];
  }
  EXPECT_EQ(answers, 21) << "twenty answers and one that says why there are no more";
  EXPECT_EQ(Refused(Refusal::kMalformed), 100u);
  Client x = MakeClient("x", 13);
  Join(x);
  EXPECT_EQ(x.welcomes, 0);
  EXPECT_TRUE(Send(honest).accept);
  Pass(61 * kSecond);
  Join(x);
  EXPECT_EQ(x.welcomes, 1);
}

TEST_F(ServerSessionTest, MutedClientIsKeptButItsTrajectoriesAreThrownAway) {
  AddNpc(64, 32);
  Client a = MakeClient("a", 11);
  Join(a);
  for (int i = 0; i < 21; ++i) {
    session_.OnUndecodable("a", {Refusal::kMalformed, "noise", 11, 0}, now_);
  }
  EXPECT_FALSE(Send(a).accept);
  Say(a, Ping{});
  Deliver({&a});
  EXPECT_EQ(a.pongs, 1);
  EXPECT_EQ(a.acknowledged, 1u);
  for (int i = 0; i < 61; ++i) {
    Pass(kSecond);
    Say(a, Ping{});
  }
  EXPECT_TRUE(Send(a).accept);
}

TEST_F(ServerSessionTest, GoawayReachesEverybodyAndNobodyNewIsWelcome) {
  AddNpc();
  Client a = MakeClient("a", 11), b = MakeClient("b", 12), c = MakeClient("c", 13);
  Join(a);
  Join(b);
  session_.SayGoaway({"stopped by the user", 5000, true});
  SayHello(c);
  Deliver({&a, &b, &c});
  EXPECT_EQ(a.goaways, 1);
  EXPECT_EQ(b.goaways, 1);
  EXPECT_EQ(c.welcomes, 0);
  EXPECT_TRUE(Send(a).accept) << "what is under way is still taken";
}

class TwoActorsAtMost : public ServerSessionTest {
 protected:
  TwoActorsAtMost() : ServerSessionTest({.max_actors = 2}) {}
};

TEST_F(TwoActorsAtMost, ThirdIsBusyUntilOneLeaves) {
  AddNpc();
  Client a = MakeClient("a", 11), b = MakeClient("b", 12), c = MakeClient("c", 13);
  Join(a);
  Join(b);
  Join(c);
  ASSERT_EQ(c.errors.size(), 1u);
  EXPECT_EQ(c.errors[0].refusal, Refusal::kBusy);
  EXPECT_THAT(c.errors[0].sentence, HasSubstr("2 actors"));
  Say(a, Bye{});
  Join(c);
  EXPECT_EQ(c.welcomes, 1);
}

class FiveAgentsAtMost : public ServerSessionTest {
 protected:
  FiveAgentsAtMost() : ServerSessionTest({.max_agents = 5}) {}
};

TEST_F(FiveAgentsAtMost, OfAllActorsTogetherAndAnActorMayChangeItsOwn) {
  AddNpc();
  Client a = MakeClient("a", 11, {0, 1, 2}), b = MakeClient("b", 12, {0, 1, 2});
  Join(a);
  Join(b);
  ASSERT_EQ(b.errors.size(), 1u);
  EXPECT_EQ(b.errors[0].refusal, Refusal::kBusy);
  EXPECT_THAT(b.errors[0].sentence, HasSubstr("room for 5 agents"));
  a.hello.models[0].agents = {3, 4, 5, 6, 7};
  Join(a);
  EXPECT_EQ(a.welcomes, 2);
  a.hello.models[0].agents = {3, 4};
  Join(a);
  Join(b);
  EXPECT_EQ(b.welcomes, 1);
  Say(a, Bye{});
  Say(b, Bye{});
  Client c = MakeClient("c", 13, {0, 1, 2, 3, 4});
  Join(c);
  EXPECT_EQ(c.welcomes, 1) << "who left takes no room";
}

/// Sixty-five thousand agents, in an order that is not theirs; a HELLO of them costs no square.
TEST_F(ServerSessionTest, ThousandsOfAgentsKeepTheirPlacesAsOthersComeAndGo) {
  AddNpc();
  Client a = MakeClient("a", 11, {});
  std::vector<std::uint32_t>& agents = a.hello.models[0].agents;
  for (std::uint32_t i = 0; i < 65'535; ++i) agents.push_back(i * 40'503u % 65'536u);
  Join(a);
  const std::vector<std::uint32_t> indices = a.ok.models[0].agent_indices;
  ASSERT_EQ(indices.size(), 65'535u);
  EXPECT_EQ(indices.front(), 0u);
  EXPECT_EQ(indices.back(), 65'534u);
  EXPECT_TRUE(Send(a, agents[40'000]).accept);
  const std::uint32_t gone = agents[1000];
  agents.erase(agents.begin() + 1000);
  Join(a);
  std::vector<std::uint32_t> left = indices;
  left.erase(left.begin() + 1000);
  EXPECT_EQ(a.ok.models[0].agent_indices, left);
  EXPECT_FALSE(Send(a, gone).accept);
  agents.push_back(70'000);
  Join(a);
  EXPECT_EQ(a.ok.models[0].agent_indices.back(), 1000u) << "the place that became free";
  EXPECT_EQ(session_.EnvironmentSteps(0), std::uint64_t{kLength}) << "as its agents say themselves";
}

}  // namespace
}  // namespace murmurate::wire
