#include "shared/wire/client_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/core/clock.h"
#include "tests/wire/samples.h"

namespace murmurate::wire {
namespace {

using State = ClientSession::State;
using Kind = ClientSession::Event::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::int64_t kMs = kNanosecondsPerMillisecond, kSecond = kNanosecondsPerSecond;

class ClientSessionTest : public testing::Test {
 protected:
  static Hello OneModel() {
    Hello hello;
    hello.actor_name = "game";
    hello.models = {{"npc", "spaces", {0}, 0, 0}};
    return hello;
  }
  static HelloOk Welcome(std::uint64_t incarnation = 77, std::uint64_t session = 1) {
    HelloOk ok;
    ok.incarnation = incarnation;
    ok.session = session;
    ok.bytes_total = 1000;
    HelloOkModel model;
    model.name = "npc";
    model.trajectory_length = 8;
    model.agent_indices = {0};
    model.agent_seeds = {5};
    model.steps_total = 16;
    model.version = 3;
    ok.models = {model};
    return ok;
  }

  /// Takes what is to be done, and remembers the kinds.
  void Note(const ClientSession::Output& out) {
    sent_ = out.send;
    events_.clear();
    for (const auto& event : out.events) events_.push_back(event.kind);
  }
  void Introduce() { Note(session_.Introduce(OneModel(), now_)); }
  void Hear(Body body) {
    Decoded message;
    message.body = std::move(body);
    Note(session_.OnMessage(message, now_));
  }
  void Tick(std::int64_t after_ns = 0) {
    ClientSession::Output all;
    do {
      const std::int64_t step_ns = std::min(after_ns, 100 * kMs);
      after_ns -= step_ns;
      now_ += step_ns;
      const ClientSession::Output out = session_.OnTick(Ping{0, {{10, 1, 3}}}, now_);
      all.send.insert(all.send.end(), out.send.begin(), out.send.end());
      all.events.insert(all.events.end(), out.events.begin(), out.events.end());
    } while (after_ns > 0);
    Note(all);
  }
  void GoLive() {
    Introduce();
    Hear(Welcome());
    ASSERT_EQ(session_.state(), State::kLive);
  }
  template <typename T>
  int Sent() const {
    return static_cast<int>(std::count_if(sent_.begin(), sent_.end(), [](const Body& body) {
      return std::holds_alternative<T>(body);
    }));
  }

  std::int64_t now_ = 1000 * kSecond;
  ClientSession session_{42};
  std::vector<Body> sent_;
  std::vector<Kind> events_;
};

TEST_F(ClientSessionTest, SaysNothingBeforeItIsIntroduced) {
  Tick(kSecond);
  EXPECT_THAT(sent_, IsEmpty());
  EXPECT_EQ(session_.state(), State::kIdle);
}

TEST_F(ClientSessionTest, HelloIsRepeatedEverLessOftenUpToASecond) {
  Introduce();
  EXPECT_EQ(Sent<Hello>(), 1);
  EXPECT_EQ(session_.state(), State::kGreeting);
  std::vector<std::int64_t> gaps;
  for (std::int64_t last = now_; gaps.size() < 14;) {
    Tick(kMs / 4);
    if (Sent<Hello>() == 0) continue;
    gaps.push_back(now_ - last);
    last = now_;
  }
  std::int64_t longest = 2 * kMs;
  for (const std::int64_t gap : gaps) {
    EXPECT_GE(gap, longest / 2 - kMs / 4);
    EXPECT_LE(gap, longest + kMs / 4);
    longest = std::min(2 * longest, kSecond);
  }
}

TEST_F(ClientSessionTest, TwoSessionsOfOneSenderRetryAtTheSameTimesAndOthersDoNot) {
  ClientSession twin(42), other(43);
  Introduce();
  (void)twin.Introduce(OneModel(), now_);
  (void)other.Introduce(OneModel(), now_);
  bool differs = false;
  for (int i = 0; i < 2000; ++i) {
    now_ += kMs / 4;
    const std::size_t mine = session_.OnTick({}, now_).send.size();
    EXPECT_EQ(twin.OnTick({}, now_).send.size(), mine);
    differs |= other.OnTick({}, now_).send.size() != mine;
  }
  EXPECT_TRUE(differs);
}

TEST_F(ClientSessionTest, WelcomeMakesItLiveWithTheGrantedTotals) {
  Introduce();
  Hear(Welcome());
  EXPECT_THAT(events_, ElementsAre(Kind::kWelcome));
  EXPECT_EQ(session_.state(), State::kLive);
  EXPECT_TRUE(session_.fresh_session());
  EXPECT_EQ(session_.totals().bytes(), 1000u);
  ASSERT_EQ(session_.totals().credit().size(), 1u);
  EXPECT_EQ(session_.totals().credit()[0].steps_total, 16u);
  EXPECT_EQ(session_.totals().credit()[0].version, 3u);
  EXPECT_EQ(session_.NextSequence(), 1u);
  EXPECT_EQ(session_.NextSequence(), 2u);
  Tick(10 * kMs);
  EXPECT_EQ(Sent<Hello>(), 0);
  EXPECT_EQ(Sent<Ping>(), 1) << "the learner learns at once how much has been played";
}

TEST_F(ClientSessionTest, PingCarriesTheProgressEveryHeartbeat) {
  Introduce();
  HelloOk ok = Welcome();
  ok.heartbeat_ms = 200;
  Hear(ok);
  Tick();
  int pings = 0;
  for (int i = 0; i < 100; ++i) {
    Tick(10 * kMs);
    if (Sent<Ping>() == 0) continue;
    ++pings;
    EXPECT_EQ(std::get<Ping>(sent_[0]).sent_ns, now_);
    EXPECT_EQ(std::get<Ping>(sent_[0]).models.at(0).steps, 10u);
  }
  EXPECT_EQ(pings, 5);
}

TEST_F(ClientSessionTest, CreditNeverFallsAndIsToldOnce) {
  GoLive();
  Hear(Accepted{4, 1500, {{32, 0, 3}}});
  EXPECT_THAT(events_, ElementsAre(Kind::kCredit));
  EXPECT_EQ(session_.totals().acknowledged(), 4u);
  EXPECT_EQ(session_.totals().bytes(), 1500u);
  EXPECT_EQ(session_.totals().credit()[0].steps_total, 32u);
  Hear(Accepted{4, 1500, {{32, 0, 3}}});
  EXPECT_THAT(events_, IsEmpty());
  Hear(Accepted{3, 900, {{8, 0, 2}}});
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(session_.totals().acknowledged(), 4u);
  EXPECT_EQ(session_.totals().bytes(), 1500u);
  EXPECT_EQ(session_.totals().credit()[0].steps_total, 32u);
  EXPECT_EQ(session_.totals().credit()[0].version, 3u);
}

TEST_F(ClientSessionTest, LockstepVersionTravelsWithItsCredit) {
  GoLive();
  Hear(Accepted{1, 1000, {{24, 5, 5}}});
  EXPECT_THAT(events_, ElementsAre(Kind::kCredit, Kind::kNewVersion));
  EXPECT_EQ(session_.totals().credit()[0].at_version, 5u);
}

TEST_F(ClientSessionTest, NewVersionIsToldByPongToo) {
  GoLive();
  Hear(Pong{0, 77, {{16, 0, 4}}});
  EXPECT_THAT(events_, ElementsAre(Kind::kNewVersion));
}

TEST_F(ClientSessionTest, SilenceDegradesThenLosesAndAnyWordHeals) {
  GoLive();
  Tick(2900 * kMs);
  EXPECT_EQ(session_.state(), State::kLive);
  Tick(200 * kMs);
  EXPECT_EQ(session_.state(), State::kDegraded);
  EXPECT_THAT(session_.reason(), testing::HasSubstr("3 s"));
  Hear(Pong{0, 77, {}});
  EXPECT_EQ(session_.state(), State::kLive);
  EXPECT_EQ(session_.reason(), "");
  Tick(9900 * kMs);
  EXPECT_EQ(session_.state(), State::kDegraded);
  Tick(100 * kMs);
  EXPECT_THAT(events_, ElementsAre(Kind::kLost));
  EXPECT_EQ(session_.state(), State::kLost);
  Tick(10 * kMs);
  EXPECT_EQ(Sent<Hello>(), 1) << "HELLO follows on the new socket";
  EXPECT_EQ(session_.state(), State::kGreeting);
}

TEST_F(ClientSessionTest, AnotherIncarnationIsGreetedAnewAndCountsFromZero) {
  GoLive();
  (void)session_.NextSequence();
  Hear(Accepted{1, 5000, {{400, 0, 9}}});
  Hear(Pong{0, 78, {}});
  EXPECT_EQ(Sent<Hello>(), 1);
  EXPECT_EQ(session_.state(), State::kGreeting);
  Hear(Welcome(78, 1));
  EXPECT_TRUE(session_.fresh_session());
  EXPECT_EQ(session_.NextSequence(), 2u) << "but sequence numbers go on";
  EXPECT_EQ(session_.totals().bytes(), 1000u);
  EXPECT_EQ(session_.totals().credit()[0].steps_total, 16u);
  EXPECT_EQ(session_.totals().acknowledged(), 0u);
}

TEST_F(ClientSessionTest, AResumedLearnerIsFollowedWhereItsSequenceGoesOn) {
  GoLive();
  for (int i = 0; i < 5; ++i) (void)session_.NextSequence();
  Hear(Committed{0, 3, 3, 24});
  EXPECT_THAT(events_, ElementsAre(Kind::kCommitted));
  EXPECT_EQ(session_.totals().committed().at(0).steps, 24u);
  Hear(Pong{0, 78, {}});
  EXPECT_EQ(std::get<Hello>(sent_.back()).sequence, 5u);
  HelloOk ok = Welcome(78, 1);
  ok.resumed = true;
  ok.sequence = 5;
  ok.kept_sequence = 3;
  Hear(ok);
  EXPECT_EQ(session_.totals().lost(), 2u);
  EXPECT_TRUE(session_.totals().committed().empty()) << "until it says so itself";
  EXPECT_EQ(session_.NextSequence(), 6u);
  EXPECT_EQ(session_.totals().acknowledged(), 5u);
}

TEST_F(ClientSessionTest, ForgottenClientGreetsAnewOnce) {
  GoLive();
  Hear(Error{Refusal::kNotRegistered, "say HELLO", 3});
  EXPECT_EQ(Sent<Hello>(), 1);
  EXPECT_EQ(session_.state(), State::kGreeting);
  Hear(Error{Refusal::kNotRegistered, "say HELLO", 4});
  EXPECT_EQ(Sent<Hello>(), 0);
  Hear(Welcome(77, 2));
  EXPECT_TRUE(session_.fresh_session());
  EXPECT_EQ(session_.NextSequence(), 1u);
}

TEST_F(ClientSessionTest, HelloInALiveSessionKeepsItsNumbers) {
  GoLive();
  (void)session_.NextSequence();
  Hello more = OneModel();
  more.models[0].agents = {0, 1};
  Note(session_.Introduce(more, now_));
  EXPECT_EQ(Sent<Hello>(), 1);
  EXPECT_EQ(session_.state(), State::kLive);
  Hear(Welcome());  // a late answer to the first HELLO: of one agent
  EXPECT_THAT(events_, IsEmpty());
  HelloOk both = Welcome();
  both.number = 2;
  both.models[0].agent_indices = {0, 1};
  both.models[0].agent_seeds = {5, 6};
  Hear(both);
  EXPECT_THAT(events_, ElementsAre(Kind::kWelcome));
  EXPECT_FALSE(session_.fresh_session());
  EXPECT_EQ(session_.NextSequence(), 2u);
}

TEST_F(ClientSessionTest, UnansweredHelloOfALiveSessionIsRepeated) {
  GoLive();
  Introduce();
  Tick(3 * kMs);
  EXPECT_EQ(Sent<Hello>(), 1);
}

TEST_F(ClientSessionTest, OneThatWasSuspendedAsksWhetherItsSessionGoesOnBeforeItSaysMore) {
  GoLive();
  Tick(kSecond);
  EXPECT_FALSE(session_.unsure());
  now_ += 60 * kSecond;  // nobody calls
  Tick();
  EXPECT_EQ(session_.state(), State::kLive);
  EXPECT_TRUE(session_.unsure());
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(Sent<Hello>(), 1);
  EXPECT_EQ(Sent<Ping>(), 0);
  Hear(Welcome());
  EXPECT_FALSE(session_.unsure());
  EXPECT_FALSE(session_.fresh_session());
  now_ += 60 * kSecond;
  Tick();
  Tick(3100 * kMs);
  EXPECT_EQ(session_.state(), State::kDegraded) << "the learner is not there any more";
  Tick(7 * kSecond);
  EXPECT_THAT(events_, ElementsAre(Kind::kLost));
}

TEST_F(ClientSessionTest, RefusedForItsSpacesItAsksAgainAfterFiveSeconds) {
  Introduce();
  Hear(Error{Refusal::kSpaces, "action: expected discrete 2, got discrete 3", 0});
  EXPECT_THAT(events_, ElementsAre(Kind::kRefused));
  EXPECT_EQ(session_.state(), State::kRefused);
  EXPECT_EQ(session_.reason(), "action: expected discrete 2, got discrete 3");
  Tick(4900 * kMs);
  EXPECT_EQ(Sent<Hello>(), 0);
  Tick(200 * kMs);
  EXPECT_EQ(Sent<Hello>(), 1);
  Hear(Error{Refusal::kSpaces, "action: expected discrete 2, got discrete 3", 0});
  EXPECT_THAT(events_, IsEmpty()) << "the same again is no news";
  Tick(5100 * kMs);
  EXPECT_EQ(Sent<Hello>(), 1);
  Hear(Welcome());
  EXPECT_EQ(session_.state(), State::kLive);
}

TEST_F(ClientSessionTest, RefusedTrajectoriesAreCountedAndTheSessionGoesOn) {
  GoLive();
  std::uint64_t sequence = 0;
  for (const Refusal refusal : {Refusal::kCredit, Refusal::kMeaning, Refusal::kNotFinite,
                                Refusal::kStale, Refusal::kSequence, Refusal::kBusy}) {
    Hear(Error{refusal, RefusalName(refusal), ++sequence});
    EXPECT_THAT(events_, IsEmpty());
    EXPECT_EQ(session_.state(), State::kLive);
  }
  EXPECT_EQ(session_.totals().refused(), 6u);
  EXPECT_EQ(session_.totals().last_refusal(), "busy");
}

TEST_F(ClientSessionTest, GoawayIsToldAndTheLeavingLearnerIsLeftAloneForASecond) {
  GoLive();
  Hear(Goaway{"stopped by the user", 5000, true});
  EXPECT_THAT(events_, ElementsAre(Kind::kGoaway));
  EXPECT_EQ(session_.state(), State::kGreeting);
  EXPECT_EQ(session_.reason(), "stopped by the user");
  EXPECT_TRUE(session_.restart_expected());
  Tick(900 * kMs);
  EXPECT_THAT(sent_, IsEmpty());
  Tick(200 * kMs);
  EXPECT_EQ(Sent<Hello>(), 1);
}

TEST_F(ClientSessionTest, CreditOutsideASessionIsIgnored) {
  Introduce();
  Hear(Accepted{9, 9000, {{900, 0, 9}}});
  EXPECT_THAT(events_, IsEmpty());
  EXPECT_EQ(session_.totals().bytes(), 0u);
}

TEST_F(ClientSessionTest, WelcomeOfOtherModelsIsNotTaken) {
  Introduce();
  HelloOk other = Welcome();
  other.models[0].name = "boss";
  Hear(other);
  EXPECT_EQ(session_.state(), State::kGreeting);
  other = Welcome();
  other.models.clear();
  Hear(other);
  EXPECT_EQ(session_.state(), State::kGreeting);
}

}  // namespace
}  // namespace murmurate::wire
