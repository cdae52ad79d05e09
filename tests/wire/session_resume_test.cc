// What a learner's session saves, and how another one goes on from it.
#include <memory>

#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

/// A second learner beside the fixture's: resumed from what the first one saved.
class SessionResumeTest : public ServerSessionTest {
 protected:
  SavedState Save() {
    std::vector<ServerSession::Position> marks;
    session_.CopyPositions(0, &marks);
    SavedState state;
    session_.Save(0, marks, StateWriter(&state, "session"));
    return state;
  }
  /// From now on session_ is a new incarnation that has loaded `state`.
  Status Resume(const SavedState& state, int batch = 4) {
    std::destroy_at(&session_);
    std::construct_at(&session_, 78u, true, 1u, ServerSession::Limits{});
    AddNpc(8, batch);
    return session_.Load(0, StateReader(state, "session"));
  }
  static std::vector<Committed> CommittedIn(const std::vector<ServerSession::Reply>& replies) {
    std::vector<Committed> found;
    for (const auto& reply : replies)
      if (const auto* committed = std::get_if<Committed>(&reply.body)) found.push_back(*committed);
    return found;
  }
};

TEST_F(SessionResumeTest, ACheckpointTellsEverySenderUpToWhere) {
  AddNpc();
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  Send(a);
  Send(a, 0, 5);
  Send(b);
  std::vector<ServerSession::Position> marks;
  session_.CopyPositions(0, &marks);
  Send(a);  // not in the checkpoint any more
  Deliver({&a, &b});
  session_.Commit(0, marks);
  const auto replies = session_.PopReplies();
  ASSERT_EQ(replies.size(), 2u);
  const auto& to_a = std::get<Committed>(replies[0].body);
  EXPECT_EQ(replies[0].peer, "a");
  EXPECT_EQ(to_a.sequence, 2u);
  EXPECT_EQ(to_a.trajectories, 2u);
  EXPECT_EQ(to_a.steps, 13u);
  const auto& to_b = std::get<Committed>(replies[1].body);
  EXPECT_EQ(to_b.sequence, 1u);
  EXPECT_EQ(to_b.steps, 8u);
}

TEST_F(SessionResumeTest, WhatWaitsForRoomInABatchIsNotMarked) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Send(a);
  const Decoded waits = Trajectory(a, ++a.sequence);
  ASSERT_TRUE(session_.OnExperience("a", waits, now_).accept);
  const Decoded bad = Trajectory(a, ++a.sequence);
  ASSERT_TRUE(session_.OnExperience("a", bad, now_).accept);
  session_.Acknowledge("a", bad, Refusal::kMeaning, "bent", now_);
  std::vector<ServerSession::Position> marks;
  session_.CopyPositions(0, &marks);
  ASSERT_EQ(marks.size(), 1u);
  EXPECT_EQ(marks[0].sequence, 1u);
  session_.Acknowledge("a", waits, Refusal::kNone, "", now_);
  session_.CopyPositions(0, &marks);
  EXPECT_EQ(marks[0].sequence, 3u);
  EXPECT_EQ(marks[0].trajectories, 2u);
}

TEST_F(SessionResumeTest, AResumedLearnerKnowsItsAgentsItsStepsAndWhatItLost) {
  AddNpc();
  Client a = MakeClient("a", 11, {3}), b = MakeClient("b", 12, {0, 1});
  Join(a);
  Join(b);
  EXPECT_EQ(b.ok.models[0].agent_indices, (std::vector<std::uint32_t>{1, 2}));
  Send(b);
  Send(b, 1);
  const SavedState state = Save();
  const std::uint64_t steps = session_.EnvironmentSteps(0);
  Send(b);  // not in the checkpoint: lost

  ASSERT_TRUE(Resume(state).ok());
  EXPECT_EQ(session_.EnvironmentSteps(0), steps);
  EXPECT_TRUE(session_.Actors(now_).empty()) << "nobody has come yet";
  b.hello.sequence = 3;
  SayHello(b);
  const auto replies = session_.PopReplies();
  const auto& ok = std::get<HelloOk>(replies.at(0).body);
  EXPECT_TRUE(ok.resumed);
  EXPECT_EQ(ok.kept_sequence, 2u);
  EXPECT_EQ(ok.sequence, 3u) << "the next one is the fourth of its life";
  EXPECT_EQ(ok.models[0].agent_indices, (std::vector<std::uint32_t>{1, 2}))
      << "though it came before the other one";
  EXPECT_EQ(ok.models[0].agent_seeds, b.ok.models[0].agent_seeds);
  ASSERT_EQ(CommittedIn(replies).size(), 1u) << "and it is told what is kept";
  EXPECT_EQ(CommittedIn(replies)[0].sequence, 2u);
  EXPECT_EQ(CommittedIn(replies)[0].steps, 16u);
  EXPECT_EQ(session_.lost_trajectories(), 1u);
  EXPECT_TRUE(Send(b).duplicate == false);
  Join(a);
  EXPECT_EQ(a.ok.models[0].agent_indices, (std::vector<std::uint32_t>{0}));
}

TEST_F(SessionResumeTest, WhatTheCheckpointHasIsAcknowledgedAndNeverTakenTwice) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Send(a);
  Send(a);
  ASSERT_TRUE(Resume(Save()).ok());
  a.hello.sequence = 0;  // it does not say what it sent
  Join(a);
  EXPECT_EQ(a.ok.sequence, 2u);
  for (const std::uint64_t again : {1u, 2u}) {
    const auto verdict = session_.OnExperience("a", Trajectory(a, again), now_);
    EXPECT_TRUE(verdict.duplicate);
    EXPECT_FALSE(verdict.accept);
  }
  Deliver({&a});
  EXPECT_EQ(a.acknowledged, 2u);
  EXPECT_EQ(session_.duplicates(), 2u);
  a.sequence = 2;
  EXPECT_TRUE(Send(a).accept);
  EXPECT_TRUE(a.errors.empty());
}

TEST_F(SessionResumeTest, LockstepGoesOnWithTheAgentWhoseTurnItWas) {
  AddNpc(8, 3);
  Client a = MakeClient("a", 11, {0, 1}, Pace::kLockstep);
  session_.SetVersion(0, 5);
  Join(a);
  EXPECT_EQ(a.granted(), 3) << "two to agent 0, one to agent 1";
  for (const std::uint32_t agent : {0u, 1u, 0u}) Send(a, agent);
  session_.ReleaseTrajectories(0, 3, 6, now_);
  const SavedState state = Save();
  // A second agent's client would get this batch's odd trajectory in a run that goes on.
  Client b = MakeClient("b", 12, {0}, Pace::kLockstep);
  ASSERT_TRUE(Resume(state, 3).ok());
  const auto turn = state.words.at("session.turn");
  EXPECT_EQ(turn[1], 1u) << "agent 1 is next";
}

TEST_F(SessionResumeTest, NoCreditIsGivenBeyondWhatALockstepRunIsToLearnFrom) {
  SessionModel model;
  model.welcome.name = "npc";
  model.welcome.trajectory_length = kLength;
  model.block_bytes = kBlockBytes;
  model.outstanding_limit = 4;
  model.batch_trajectories = 2;
  model.lockstep_steps = 32;
  models_["npc"] = session_.AddModel(std::move(model));
  Client a = MakeClient("a", 11, {0}, Pace::kLockstep);
  Join(a);
  Say(a, Ping{0, {{std::uint64_t{1} << 62, 0, 0}}});  // what it claims ends nothing
  int trained = 0;
  while (a.granted() > static_cast<int>(a.sequence)) {
    Send(a);
    Send(a);
    session_.SetLearned(0, 16 * (static_cast<std::uint64_t>(trained) + 1));
    session_.ReleaseTrajectories(0, 2, static_cast<std::uint64_t>(++trained) + 1, now_);
    Deliver({&a});
  }
  EXPECT_EQ(trained, 2) << "2 batches of 2 trajectories of 8 steps";
  EXPECT_TRUE(session_.AtBorder(0));
}

TEST_F(SessionResumeTest, AStoppingLearnerEndsBetweenTwoVersions) {
  AddNpc(8, 2);
  Client a = MakeClient("a", 11, {0}, Pace::kLockstep);
  Join(a);
  Send(a);
  session_.StopGranting();
  EXPECT_FALSE(session_.AtBorder(0)) << "one is out, one waits";
  Send(a);
  EXPECT_FALSE(session_.AtBorder(0)) << "the batch is not trained on";
  session_.ReleaseTrajectories(0, 2, 2, now_);
  Deliver({&a});
  EXPECT_TRUE(session_.AtBorder(0));
  EXPECT_EQ(a.granted(), 2);
}

TEST_F(SessionResumeTest, BentStateIsRefused) {
  AddNpc();
  Client a = MakeClient("a", 11);
  Join(a);
  Send(a);
  const SavedState good = Save();
  SavedState bent = good;
  bent.words["session.senders"].pop_back();
  EXPECT_EQ(Resume(bent).code(), StatusCode::kInvalidData);
  bent = good;
  bent.words["session.senders"][4] = 1ull << 40;
  EXPECT_EQ(Resume(bent).code(), StatusCode::kInvalidData);
  bent = good;
  bent.words["session.senders"][6] = 1ull << 40;  // the index of its agent
  EXPECT_EQ(Resume(bent).code(), StatusCode::kInvalidData);
  bent = good;
  bent.words.erase("session.turn");
  EXPECT_EQ(Resume(bent).code(), StatusCode::kInvalidData);
}

}  // namespace
}  // namespace murmurate::wire
