#include "server/session/server_session.h"

#include <gmock/gmock.h>

#include "shared/core/random.h"
#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(ServerSessionTest, HelloIsAnsweredWithTheFullState) {
  AddNpc();
  session_.SetVersion(0, 3);
  session_.SetAddresses("tcp://127.0.0.1:7421", "tcp://127.0.0.1:7422", 0);
  Client a = MakeClient("a", 11, {0, 4});
  Join(a);
  ASSERT_EQ(a.welcomes, 1);
  EXPECT_EQ(a.ok.incarnation, 77u);
  EXPECT_EQ(a.ok.number, 1u);
  EXPECT_NE(a.ok.session, 0u);
  EXPECT_EQ(a.ok.announce_address, "tcp://127.0.0.1:7421");
  EXPECT_EQ(a.ok.weights_address, "tcp://127.0.0.1:7422");
  ASSERT_EQ(a.ok.models.size(), 1u);
  EXPECT_EQ(a.ok.models[0].version, 3u);
  EXPECT_EQ(a.ok.models[0].segment, "/segment");
  EXPECT_THAT(a.ok.models[0].agent_indices, ElementsAre(0, 1));
  EXPECT_THAT(a.ok.models[0].agent_seeds, ElementsAre(DeriveSeed(1, 0), DeriveSeed(1, 1)));
  EXPECT_EQ(a.granted(), 8);
  EXPECT_GE(a.bytes_total, kBlockBytes);
  EXPECT_EQ(session_.live_agents(0), 2);
}

TEST_F(ServerSessionTest, AClientThatDoesNotKnowScaledBoxesIsRefusedInOneSentence) {
  SessionModel model;
  model.welcome.name = "npc";
  model.welcome.trajectory_length = kLength;
  model.block_bytes = kBlockBytes;
  model.outstanding_limit = model.batch_trajectories = 8;
  model.features = kScaledBoxes;
  models_["npc"] = session_.AddModel(std::move(model));
  Client old = MakeClient("old", 11), current = MakeClient("current", 12);
  old.hello.features = 0;  // what a HELLO without the field says
  Join(old);
  EXPECT_EQ(old.welcomes, 0);
  ASSERT_EQ(old.errors.size(), 1u);
  EXPECT_EQ(old.errors[0].refusal, Refusal::kVersion);
  EXPECT_THAT(old.errors[0].sentence, HasSubstr("update the game's murmurate library"));
  EXPECT_EQ(session_.live_agents(0), 0);
  Join(current);
  EXPECT_EQ(current.welcomes, 1);
}

TEST_F(ServerSessionTest, AClientThatDoesNotKnowDeterministicPoliciesIsRefused) {
  SessionModel model;
  model.welcome.name = "npc";
  model.welcome.trajectory_length = kLength;
  model.block_bytes = kBlockBytes;
  model.outstanding_limit = model.batch_trajectories = 8;
  model.features = kNamedNetworks | kDeterministic;
  models_["npc"] = session_.AddModel(std::move(model));
  Client old = MakeClient("old", 11), current = MakeClient("current", 12);
  old.hello.features = 3;  // of the versions before
  Join(old);
  ASSERT_EQ(old.errors.size(), 1u);
  EXPECT_EQ(old.errors[0].refusal, Refusal::kVersion);
  Join(current);
  EXPECT_EQ(current.welcomes, 1);
}

TEST_F(ServerSessionTest, SettingsComeBeforeTheWelcomeAndWheneverTheyChange) {
  AddNpc();
  Client early = MakeClient("early", 11), late = MakeClient("late", 12);
  Join(early);
  const Settings first{1, {{"wind", 1.0}}}, second{2, {{"wind", 2.0}}};
  session_.SetSettings(first);
  auto replies = session_.PopReplies();
  ASSERT_EQ(replies.size(), 1u);
  EXPECT_EQ(replies[0].peer, "early");
  EXPECT_EQ(std::get<Settings>(replies[0].body), first);
  SayHello(late);
  replies = session_.PopReplies();
  ASSERT_GE(replies.size(), 2u);
  EXPECT_EQ(std::get<Settings>(replies[0].body), first);
  EXPECT_TRUE(std::holds_alternative<HelloOk>(replies[1].body));
  session_.SetSettings(second);
  EXPECT_EQ(session_.PopReplies().size(), 2u);
}

TEST_F(ServerSessionTest, OnlyThisHostIsToldOfSharedMemory) {
  AddNpc();
  session_.SetAddresses("", "", 1234);
  Client near = MakeClient("near", 11), far = MakeClient("far", 12);
  near.hello.host_identity = 1234;
  far.hello.host_identity = 4321;
  Join(near);
  Join(far);
  EXPECT_EQ(near.ok.models[0].segment, "/segment");
  EXPECT_EQ(far.ok.models[0].segment, "");
}

TEST_F(ServerSessionTest, OtherSpacesAreRefusedInWords) {
  AddNpc();
  Client a = MakeClient("a", 11);
  a.hello.models[0].spaces = "other";
  Join(a);
  ASSERT_EQ(a.errors.size(), 1u);
  EXPECT_EQ(a.errors[0].refusal, Refusal::kSpaces);
  EXPECT_EQ(a.errors[0].sentence, "action: expected discrete 2, got discrete 3");
  EXPECT_EQ(a.errors[0].sequence, 0u);
  EXPECT_TRUE(session_.Actors(now_).empty());
}

TEST_F(ServerSessionTest, ProtocolRangeThatLeavesOneOutIsRefused) {
  AddNpc();
  Client a = MakeClient("a", 11);
  a.hello.min_major = 2;
  a.hello.max_major = 3;
  Join(a);
  ASSERT_EQ(a.errors.size(), 1u);
  EXPECT_EQ(a.errors[0].refusal, Refusal::kVersion);
  EXPECT_THAT(a.errors[0].sentence, HasSubstr("version 1"));
  EXPECT_THAT(a.errors[0].sentence, HasSubstr("2 to 3"));
}

TEST_F(ServerSessionTest, NothingButHelloIsTakenBeforeHello) {
  AddNpc();
  Client a = MakeClient("a", 11);
  EXPECT_FALSE(Send(a).accept);
  Say(a, Ping{});
  Deliver({&a});
  ASSERT_EQ(a.errors.size(), 1u) << "one answer is enough";
  EXPECT_EQ(a.errors[0].refusal, Refusal::kNotRegistered);
  EXPECT_EQ(Refused(Refusal::kNotRegistered), 2u);
}

TEST_F(ServerSessionTest, TrajectoriesInOrderAreAcceptedAndAcknowledged) {
  AddNpc();
  Client a = MakeClient("a", 11, {7});
  Join(a);
  const auto verdict = Send(a, 7);
  EXPECT_TRUE(verdict.accept);
  EXPECT_EQ(verdict.model, 0u);
  EXPECT_EQ(verdict.agent_index, 0u);
  EXPECT_EQ(Deliver({&a})["a"], 1);
  EXPECT_EQ(a.acknowledged, 1u);
  EXPECT_TRUE(Send(a, 7).accept);
  EXPECT_TRUE(Send(a, 7).accept);
  EXPECT_EQ(Deliver({&a})["a"], 1) << "one ACCEPTED for all of a round";
  EXPECT_EQ(a.acknowledged, 3u);
  EXPECT_EQ(Report(a).trajectories, 3u);
  EXPECT_EQ(Deliver({&a})["a"], 0);
}

TEST_F(ServerSessionTest, DuplicateIsAcknowledgedAgainAndNotTakenTwice) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  const Decoded first = Trajectory(a, 1);
  ASSERT_TRUE(session_.OnExperience("a", first, now_).accept);
  session_.Acknowledge("a", first, Refusal::kNone, "", now_);
  Deliver({&a});
  a.acknowledged = 0;
  const auto again = session_.OnExperience("a", first, now_);
  EXPECT_FALSE(again.accept);
  EXPECT_TRUE(again.duplicate);
  Deliver({&a});
  EXPECT_EQ(a.acknowledged, 1u);
  EXPECT_EQ(session_.duplicates(), 1u);
  EXPECT_EQ(Report(a).trajectories, 1u);
}

TEST_F(ServerSessionTest, GapEndsTheSessionAndHelloBeginsANewOne) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_TRUE(Send(a).accept);
  a.sequence = 4;
  EXPECT_FALSE(Send(a).accept);
  Deliver({&a});
  ASSERT_EQ(a.errors.size(), 1u);
  EXPECT_EQ(a.errors[0].refusal, Refusal::kSequence);
  EXPECT_EQ(a.errors[0].sequence, 5u);
  EXPECT_THAT(a.errors[0].sentence, HasSubstr("expected 2, got 5"));
  EXPECT_FALSE(Send(a).accept);
  Deliver({&a});
  EXPECT_EQ(a.errors.back().refusal, Refusal::kNotRegistered);
  const std::uint64_t before = a.ok.session;
  Join(a);
  EXPECT_NE(a.ok.session, before);
  EXPECT_EQ(a.sequence, 0u);
  EXPECT_TRUE(Send(a).accept);
}

TEST_F(ServerSessionTest, RefusedContentGivesBytesAndSequenceBack) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  const std::uint64_t bytes_before = a.bytes_total;
  const Decoded bad = Trajectory(a, ++a.sequence);
  ASSERT_TRUE(session_.OnExperience("a", bad, now_).accept);
  session_.Acknowledge("a", bad, Refusal::kNotFinite, "observation of step 3: got nan", now_);
  Deliver({&a});
  ASSERT_EQ(a.errors.size(), 1u);
  EXPECT_EQ(a.errors[0].refusal, Refusal::kNotFinite);
  EXPECT_EQ(a.errors[0].sequence, 1u);
  EXPECT_EQ(a.acknowledged, 1u);
  EXPECT_EQ(a.bytes_total, bytes_before + kBlockBytes);
  EXPECT_EQ(a.granted(), 9) << "what was refused is not in the pool: it may be played again";
  EXPECT_EQ(Report(a).refused, 1u);
  EXPECT_EQ(Report(a).trajectories, 0u);
  EXPECT_TRUE(Send(a).accept);
}

TEST_F(ServerSessionTest, UnknownModelOrAgentIsRefusedByName) {
  AddNpc();
  Client a = MakeClient("a", 11, {0, 1});
  Join(a);
  EXPECT_FALSE(Send(a, 9).accept);
  Decoded other = Trajectory(a, ++a.sequence);
  std::get<Experience>(other.body).model = 1;
  EXPECT_FALSE(session_.OnExperience("a", other, now_).accept);
  Deliver({&a});
  ASSERT_EQ(a.errors.size(), 2u);
  EXPECT_EQ(a.errors[0].refusal, Refusal::kMeaning);
  EXPECT_THAT(a.errors[0].sentence, HasSubstr("agent 9"));
  EXPECT_THAT(a.errors[1].sentence, HasSubstr("model 1"));
  EXPECT_TRUE(Send(a).accept);
}

TEST_F(ServerSessionTest, WeightsOfAnotherLearnerAreRefusedUnlessTheRunWasResumed) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Decoded old = Trajectory(a, ++a.sequence);
  std::get<Experience>(old.body).incarnation = 76;
  EXPECT_FALSE(session_.OnExperience("a", old, now_).accept);
  EXPECT_EQ(Refused(Refusal::kIncarnation), 1u);
  old = Trajectory(a, ++a.sequence);
  std::get<Experience>(old.body).incarnation = 77;
  EXPECT_TRUE(session_.OnExperience("a", old, now_).accept);
}

TEST_F(ServerSessionTest, RehelloKeepsIndicesAndFreesThoseOfClosedAgents) {
  AddNpc();
  Client a = MakeClient("a", 11, {0, 1, 2}), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  EXPECT_THAT(a.ok.models[0].agent_indices, ElementsAre(0, 1, 2));
  EXPECT_THAT(b.ok.models[0].agent_indices, ElementsAre(3));
  const std::uint64_t session = a.ok.session;
  EXPECT_TRUE(Send(a, 2).accept);
  a.hello.models[0].agents = {0, 2};
  Join(a);
  EXPECT_THAT(a.ok.models[0].agent_indices, ElementsAre(0, 2));
  EXPECT_EQ(a.ok.session, session);
  EXPECT_TRUE(Send(a, 2).accept) << "sequence numbers go on";
  a.hello.models[0].agents = {2, 0, 5};
  Join(a);
  EXPECT_THAT(a.ok.models[0].agent_indices, ElementsAre(2, 0, 1));
  EXPECT_EQ(session_.live_agents(0), 4);
}

TEST_F(ServerSessionTest, ModelAddedInTheSessionLeavesTheOthersCreditAlone) {
  AddNpc();
  SessionModel boss;
  boss.welcome.name = "boss";
  boss.welcome.trajectory_length = 16;
  boss.block_bytes = 3000;
  boss.outstanding_limit = 2;
  boss.batch_trajectories = 1;
  models_["boss"] = session_.AddModel(std::move(boss));
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_TRUE(Send(a).accept);
  a.hello.models.push_back({"boss", "good", {3}, 0, 0});
  Join(a);
  ASSERT_EQ(a.ok.models.size(), 2u);
  EXPECT_EQ(a.ok.models[0].steps_total, 8u * kLength);
  EXPECT_EQ(a.ok.models[1].steps_total, 2u * 16);
  EXPECT_THAT(a.ok.models[1].agent_indices, ElementsAre(1)) << "indices are learner-wide";
  Decoded message = Trajectory(a, ++a.sequence, 3);
  std::get<Experience>(message.body).model = 1;
  EXPECT_EQ(session_.OnExperience("a", message, now_).model, 1u);
}

TEST_F(ServerSessionTest, SecondConnectionOfALiveSenderIsRefused) {
  AddNpc();
  Client a = MakeClient("a", 11), thief = MakeClient("thief", 11);
  Join(a);
  SayHello(thief);
  Deliver({&a, &thief});
  EXPECT_EQ(thief.welcomes, 0);
  EXPECT_EQ(a.pongs, 1) << "the first connection is asked whether it is there";
  now_ += 100 * kMs;
  Say(a, Ping{});
  now_ += 100 * kMs;
  SayHello(thief);
  Deliver({&a, &thief});
  EXPECT_EQ(thief.welcomes, 0);
  ASSERT_EQ(thief.errors.size(), 1u);
  EXPECT_EQ(thief.errors[0].refusal, Refusal::kBusy);
  EXPECT_TRUE(Send(a).accept);
  EXPECT_FALSE(session_.OnExperience("thief", Trajectory(thief, 2), now_).accept);
}

TEST_F(ServerSessionTest, SenderIsWelcomeOnANewConnectionOnceTheOldOneIsDead) {
  AddNpc();
  Client a = MakeClient("a", 11, {0, 1});
  Join(a);
  EXPECT_TRUE(Send(a).accept);
  Deliver({&a});
  Client again = MakeClient("a2", 11, {0, 1});
  SayHello(again);
  EXPECT_EQ(Deliver({&again})["a"], 1);
  session_.OnUnreachable("a", now_);
  Join(again);
  EXPECT_EQ(again.welcomes, 1);
  EXPECT_NE(again.ok.session, a.ok.session);
  EXPECT_THAT(again.ok.models[0].agent_indices, ElementsAre(0, 1));
  EXPECT_TRUE(Send(again).accept);
  Deliver({&again});
  EXPECT_EQ(session_.Actors(now_).size(), 1u);
}

/// One that sends its last trajectories and a goodbye, and is gone before the first is answered.
TEST_F(ServerSessionTest, WhatWasSentBeforeTheConnectionBrokeIsStillTaken) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  EXPECT_TRUE(Send(a).accept);
  session_.OnUnreachable("a", now_);
  EXPECT_EQ(Report(a).health, ServerSession::ActorReport::Health::kGone);
  Pass(kSecond);
  EXPECT_TRUE(Send(a).accept);
  session_.OnUnreachable("a", now_);
  Pass(kSecond);
  EXPECT_TRUE(Send(a).accept);
  EXPECT_EQ(Deliver({&b})["a"], 0) << "it hears nothing";
  EXPECT_EQ(Report(a).trajectories, 3u);
  Say(a, Bye{});
  EXPECT_EQ(Refused(Refusal::kNotRegistered), 0u);
  EXPECT_FALSE(Send(a).accept);
}

TEST_F(ServerSessionTest, OneWhoseConnectionBrokeHasLeftWhenNothingHasComeForASecond) {
  AddNpc(8, 4);
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  EXPECT_EQ(b.granted(), 4);
  session_.OnUnreachable("a", now_);
  Deliver({&b});
  EXPECT_EQ(b.granted(), 8) << "its share is the other's at once";
  Pass(kSecond + kMs);
  EXPECT_FALSE(Send(a).accept);
  EXPECT_EQ(Refused(Refusal::kNotRegistered), 1u);
}

TEST_F(ServerSessionTest, SenderIsWelcomeOnANewConnectionOnceTheOldOneIsSilent) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  now_ += 3 * kSecond + kMs;
  Client again = MakeClient("a2", 11);
  Join(again);
  EXPECT_EQ(again.welcomes, 1);
}

TEST_F(ServerSessionTest, ConnectionBelongsToOneSender) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Client other = MakeClient("a", 12);
  Join(other);
  EXPECT_EQ(other.welcomes, 0);
  EXPECT_EQ(other.errors.at(0).refusal, Refusal::kMalformed);
  EXPECT_FALSE(session_.OnExperience("a", Trajectory(other, 1), now_).accept);
  EXPECT_TRUE(Send(a).accept);
}

}  // namespace
}  // namespace murmurate::wire
