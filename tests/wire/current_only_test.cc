// Models that take experience of the current version only: one batch a version, from everybody.
#include "tests/wire/session_fixture.h"

namespace murmurate::wire {
namespace {

class CurrentOnlyTest : public ServerSessionTest {
 protected:
  CurrentOnlyTest() {
    AddNpc(8, 4, 0, true);
    session_.SetVersion(0, 1);
    Join(a_);
    Join(b_);  // when the other has the whole batch
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(Send(a_).accept);
    session_.ReleaseTrajectories(0, 4, 2, now_);
    Deliver({&a_, &b_});
  }
  /// `seconds` in which only the first is heard of.
  void SilenceOfB(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      Pass(kSecond);
      Say(a_, Ping{});
    }
    Deliver({&a_, &b_});
  }

  Client a_ = MakeClient("a", 11, {0}, Pace::kCredit), b_ = MakeClient("b", 12, {0}, Pace::kNever);
};

TEST_F(CurrentOnlyTest, WhateverThePaceABatchIsSharedAndTheNextComesWithItsVersion) {
  EXPECT_EQ(a_.granted(), 6);
  EXPECT_EQ(b_.granted(), 2);
  EXPECT_EQ(a_.at_version, 2u);
  EXPECT_EQ(b_.at_version, 2u);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Send(a_).accept && Send(b_).accept);
  Deliver({&a_, &b_});
  EXPECT_EQ(a_.granted(), 6) << "it is in training";
  session_.ReleaseTrajectories(0, 4, 3, now_);
  Deliver({&a_, &b_});
  EXPECT_EQ(a_.granted(), 8);
  EXPECT_EQ(b_.granted(), 4);
  EXPECT_EQ(b_.at_version, 3u);
}

TEST_F(CurrentOnlyTest, TheShareOfAStalledOneIsPlayedByTheOthersUnderTheSameVersion) {
  EXPECT_TRUE(Send(a_).accept && Send(a_).accept);
  SilenceOfB(4);
  EXPECT_EQ(a_.granted(), 8);
  EXPECT_EQ(a_.at_version, 2u);
}

TEST_F(CurrentOnlyTest, WhatAStalledOneStillHoldsIsForTheVersionItComesBackTo) {
  EXPECT_TRUE(Send(a_).accept && Send(a_).accept);
  SilenceOfB(4);
  EXPECT_TRUE(Send(a_).accept && Send(a_).accept);
  session_.ReleaseTrajectories(0, 4, 3, now_);
  Deliver({&a_});
  EXPECT_EQ(a_.granted(), 12);
  Say(b_, Ping{});
  Deliver({&a_, &b_});
  EXPECT_EQ(b_.granted(), 2);
  EXPECT_EQ(b_.at_version, 3u);
}

TEST_F(CurrentOnlyTest, OneThatHasPlayedAllItWasGrantedHasGivenItsPart) {
  EXPECT_EQ(session_.live_agents(0), 2);
  EXPECT_TRUE(Send(a_).accept);
  EXPECT_EQ(session_.finished_agents(0), 0);
  EXPECT_TRUE(Send(a_).accept);
  EXPECT_EQ(session_.finished_agents(0), 1);
}

TEST_F(CurrentOnlyTest, ABatchClosedShortGrantsNothingUntilItIsReleased) {
  EXPECT_TRUE(Send(a_).accept && Send(a_).accept);
  session_.CloseBatch(0);
  SilenceOfB(4);
  EXPECT_EQ(a_.granted(), 6) << "more would be played under a version that is over";
  session_.ReleaseTrajectories(0, 2, 3, now_);
  Deliver({&a_});
  EXPECT_EQ(a_.granted(), 10);
  EXPECT_EQ(a_.at_version, 3u);
}

TEST_F(CurrentOnlyTest, LateExperienceThatIsRefusedGivesItsCreditBack) {
  const Decoded late = Trajectory(b_, ++b_.sequence);
  ASSERT_TRUE(session_.OnExperience(b_.peer, late, now_).accept);
  session_.Acknowledge(b_.peer, late, Refusal::kStale, "late", now_);
  Deliver({&a_, &b_});
  EXPECT_EQ(a_.granted() + b_.granted(), 9) << "four are still to come";
  EXPECT_EQ(Refused(Refusal::kStale), 1u);
}

TEST_F(ServerSessionTest, CreditGivenBeforeTheFirstVersionIsForThatVersion) {
  AddNpc(8, 4, 0, true);
  Client a = MakeClient("a", 11);
  Join(a);
  EXPECT_EQ(a.at_version, 0u);
  session_.SetVersion(0, 1);
  Deliver({&a});
  EXPECT_EQ(a.at_version, 1u);
  EXPECT_EQ(a.granted(), 4);
}

TEST_F(ServerSessionTest, WaitsAndAgesAreThoseOfTheirActor) {
  AddNpc();
  Client a = MakeClient("a", 11), b = MakeClient("b", 12);
  Join(a);
  Join(b);
  Say(a, Ping{0, {{5, 0, 0}}, {}, {{250, 1000}}});
  Say(b, Ping{0, {{5, 0, 0}}, {}, {{50, 2000}}});
  session_.CountStaleness(11, 0);
  session_.CountStaleness(11, 3);
  session_.CountStaleness(99, 3);  // forgotten: nobody's
  EXPECT_EQ(Report(a).waited_ns, 250u);
  EXPECT_EQ(Report(a).played_ns, 1000u);
  EXPECT_EQ(session_.ActorWaits(0).waited_ns, 300u);
  EXPECT_EQ(session_.ActorWaits(0).played_ns, 3000u);
  EXPECT_EQ(Report(a).staleness.counts()[0], 1u);
  EXPECT_EQ(Report(a).staleness.counts()[2], 1u);
  EXPECT_EQ(Report(b).staleness.counts()[0], 0u);
}

}  // namespace
}  // namespace murmurate::wire
