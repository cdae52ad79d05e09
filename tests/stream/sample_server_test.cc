// Who may send samples, and what becomes of those who may not or are silent.
#include "server/stream/sample_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/sample_peers.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

TEST(SampleServer, WhoAsksForAnotherStreamIsToldWhichThisIs) {
  ServerStage stage;
  RawPeer peer(stage.address());
  wire::StreamHello hello;
  hello.stream = "flow";
  ASSERT_TRUE(peer.Send(hello));
  EXPECT_EQ(stage.Hear<wire::Error>(&peer).sentence,
            "this address is of stream temp, not of flow: connect to that one's, or ask for temp");
  hello.stream = "temp";
  hello.fields = {"x", "y"};
  ASSERT_TRUE(peer.Send(hello));
  const auto error = stage.Hear<wire::Error>(&peer);
  EXPECT_EQ(error.refusal, wire::Refusal::kSpaces);
  EXPECT_EQ(error.sentence, "stream temp has the fields x, not x, y: send these, in this order");
  hello.fields = {"x"};
  hello.min_major = hello.max_major = 9;
  ASSERT_TRUE(peer.Send(hello));
  EXPECT_EQ(stage.Hear<wire::Error>(&peer).refusal, wire::Refusal::kVersion);
  EXPECT_EQ(stage.server->peers(), 0u);
  hello.min_major = 1;
  hello.number = 4;
  ASSERT_TRUE(peer.Send(hello));
  const auto ok = stage.Hear<wire::StreamOk>(&peer);
  EXPECT_EQ(ok.stream, "temp");
  EXPECT_EQ(ok.number, 4u);
  EXPECT_EQ(ok.credit, 256u);
  EXPECT_THAT(ok.horizons, testing::ElementsAre(1));
  EXPECT_EQ(stage.server->peers(), 1u);
}

TEST(SampleServer, WithoutAHelloNothingIsTaken) {
  ServerStage stage;
  stage.take = [](const Sample&) -> SampleOutcome {
    ADD_FAILURE() << "taken";
    return {};
  };
  RawPeer peer(stage.address());
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 1));
  const auto error = stage.Hear<wire::Error>(&peer);
  EXPECT_EQ(error.refusal, wire::Refusal::kNotRegistered);
  EXPECT_EQ(error.sequence, 1u);
  EXPECT_EQ(stage.server->counters().samples, 0u);
}

TEST(SampleServer, NumbersCountUpByOne) {
  ServerStage stage;
  RawPeer peer(stage.address());
  stage.Greet(&peer, 40);
  std::uint64_t number = 0;
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 42));
  const auto error = stage.Hear<wire::Error>(&peer, &number);
  EXPECT_EQ(error.refusal, wire::Refusal::kSequence);
  EXPECT_EQ(error.sentence, "expected sample 41, got 42");
  EXPECT_EQ(number, 42u);
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 41));
  (void)stage.Hear<wire::Taken>(&peer, &number);
  EXPECT_EQ(number, 41u);
}

TEST(SampleServer, MoreThanTheCreditIsRefused) {
  SampleServerSettings settings = ServerSettings("");
  settings.credit = 2;
  ServerStage stage(settings);
  stage.take = [](const Sample&) { return SampleOutcome{Refusal::kNone, true, true}; };
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  for (std::uint64_t i = 1; i <= 3; ++i)
    ASSERT_TRUE(peer.Send(SampleOf("a" + std::to_string(i), 1), i));
  std::uint64_t number = 0;
  EXPECT_EQ(stage.Hear<wire::Error>(&peer, &number).refusal, wire::Refusal::kCredit);
  EXPECT_EQ(number, 3u);
}

TEST(SampleServer, NonsenseIsCountedAndTheOthersNoticeNothing) {
  ServerStage stage;
  RawPeer bad(stage.address(), 1), good(stage.address(), 2);
  stage.Greet(&good);
  stage.Greet(&bad);
  const std::vector<std::vector<std::string>> nonsense = {
      {"x"}, {""}, {"a", "b", "c"}, {std::string(32, '\0')}, {"MMR1" + std::string(28, '\xff')}};
  for (const auto& frames : nonsense) {
    ASSERT_TRUE(bad.SendFrames(frames));
    (void)stage.Hear<wire::Error>(&bad);
  }
  ASSERT_TRUE(bad.Send(wire::Admin{"stop"}));
  EXPECT_EQ(stage.Hear<wire::Error>(&bad).refusal, wire::Refusal::kUnknownType);
  EXPECT_EQ(stage.server->counters().refused[1], 4u);  // malformed
  EXPECT_EQ(stage.server->peers(), 2u);
  // More than twenty a minute: it is not listened to, and forgotten.
  for (int i = 6; i <= 21; ++i) ASSERT_TRUE(bad.SendFrames({"x"}));  // a version is no nonsense
  for (int i = 6; i <= 21; ++i) (void)stage.Hear<wire::Error>(&bad);
  ASSERT_TRUE(good.Send(SampleOf("a", 1), 1));
  (void)stage.Hear<wire::Taken>(&good);
  EXPECT_EQ(stage.server->peers(), 1u);
  ASSERT_TRUE(bad.Send(wire::StreamHello{}));
  ASSERT_TRUE(good.Send(SampleOf("a", 1), 2));
  (void)stage.Hear<wire::Taken>(&good);
  ASSERT_TRUE(good.Send(SampleOf("a", 1), 3));
  (void)stage.Hear<wire::Taken>(&good);
  EXPECT_FALSE(bad.HasMore());
  stage.now_ns += 61 * kSecond;
  stage.Greet(&bad);
}

TEST(SampleServer, AMessageThatIsTooLargeCostsItsSenderTheConnectionAndNobodyElse) {
  ServerStage stage;
  RawPeer bad(stage.address(), 1), good(stage.address(), 2);
  stage.Greet(&good);
  stage.Greet(&bad);
  ASSERT_TRUE(bad.SendFrames({std::string(32, 'x'), std::string(1 << 20, 'x')}));
  for (std::uint64_t i = 1; i <= 50; ++i) {
    ASSERT_TRUE(good.Send(SampleOf("a", 1), i));
    (void)stage.Hear<wire::Taken>(&good);
  }
}

TEST(SampleServer, AsManyAreKnownAsMayBeAndTheMostSilentMakesRoom) {
  SampleServerSettings settings = ServerSettings("");
  settings.max_peers = 2;
  ServerStage stage(settings);
  RawPeer one(stage.address(), 1), two(stage.address(), 2), three(stage.address(), 3);
  stage.Greet(&one);
  stage.now_ns += 10 * kSecond;
  stage.Greet(&two);
  stage.now_ns += 19 * kSecond;
  ASSERT_TRUE(three.Send(wire::StreamHello{}));
  const auto error = stage.Hear<wire::Error>(&three);
  EXPECT_EQ(error.refusal, wire::Refusal::kBusy);
  EXPECT_THAT(error.sentence, HasSubstr("as many clients are here as may be (2)"));
  stage.now_ns += 1 * kSecond;
  stage.Greet(&three);
  EXPECT_EQ(stage.server->peers(), 2u);
  ASSERT_TRUE(one.Send(SampleOf("a", 1), 1));
  EXPECT_EQ(stage.Hear<wire::Error>(&one).refusal, wire::Refusal::kNotRegistered);
  ASSERT_TRUE(two.Send(SampleOf("a", 1), 1));
  (void)stage.Hear<wire::Taken>(&two);
}

TEST(SampleServer, WhoIsSilentForTenMinutesIsForgottenAndPingsAreLife) {
  ServerStage stage;
  RawPeer silent(stage.address(), 1), alive(stage.address(), 2);
  stage.Greet(&silent);
  stage.Greet(&alive);
  stage.now_ns += 599 * kSecond;
  ASSERT_TRUE(alive.Send(wire::Ping{123, {}}));
  EXPECT_EQ(stage.Hear<wire::Pong>(&alive).sent_ns, 123);
  stage.Round();
  EXPECT_EQ(stage.server->peers(), 2u);
  stage.now_ns += 2 * kSecond;
  stage.Round();
  EXPECT_EQ(stage.server->peers(), 1u);
  ASSERT_TRUE(alive.Send(wire::Bye{}));
  ASSERT_TRUE(silent.Send(wire::Ping{1, {}}));
  EXPECT_EQ(stage.Hear<wire::Error>(&silent).refusal, wire::Refusal::kNotRegistered);
}

TEST(SampleServer, AFloodOfHellosIsNotAnsweredByAllThatIsCommittedAndOneQueueOfThemIs) {
  ServerStage stage;
  stage.server->Commit({{"old", 9}});
  RawPeer patient(stage.address(), 1), flood(stage.address(), 2);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(patient.Send(wire::StreamHello{}));
  ASSERT_TRUE(patient.Send(SampleOf("a", 1), 1));
  while (stage.server->counters().samples == 0) {  // all of it before the end of the round
    stage.server->Wait(1);
    stage.server->ReceiveSome();
  }
  for (int i = 0; i < 60; ++i) (void)stage.Hear<wire::StreamOk>(&patient);
  (void)stage.Hear<wire::Taken>(&patient);
  EXPECT_TRUE(stage.Hear<wire::SamplesCommitted>(&patient).complete);
  for (int i = 1; i <= 20; ++i) stage.Greet(&flood);
  for (int i = 1; i <= 30; ++i) {
    ASSERT_TRUE(flood.Send(wire::StreamHello{}));
    const auto error = stage.Hear<wire::Error>(&flood);
    EXPECT_EQ(error.refusal, wire::Refusal::kBusy);  // it passes
    EXPECT_THAT(error.sentence, HasSubstr("say it once"));
  }
  ASSERT_TRUE(flood.Send(SampleOf("b", 1), 1));  // its session goes on
  (void)stage.Hear<wire::Taken>(&flood);
  stage.now_ns += 60 * kSecond;
  stage.Greet(&flood);
  ASSERT_TRUE(patient.Send(SampleOf("a", 1), 2));
  (void)stage.Hear<wire::Taken>(&patient);
}

TEST(SampleServer, AGoodbyeIsForEverybody) {
  ServerStage stage;
  RawPeer one(stage.address(), 1), two(stage.address(), 2);
  stage.Greet(&one);
  stage.Greet(&two);
  stage.server->SayGoodbye();
  EXPECT_EQ(stage.Hear<wire::Goaway>(&one).reason, "the learner ends");
  EXPECT_EQ(stage.Hear<wire::Goaway>(&two).reason, "the learner ends");
  EXPECT_EQ(stage.server->peers(), 0u);
}

TEST(SampleServer, AnAddressInUseIsASentence) {
  ServerStage stage;
  SampleServerSettings settings = ServerSettings(stage.address());
  const auto second = SampleServer::Open(settings, {});
  ASSERT_FALSE(second.ok());
  EXPECT_THAT(second.status().message(), HasSubstr("choose another address with listen"));
}

}  // namespace
}  // namespace murmurate
