#include "server/stream/sample_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/forecasting.h"
#include "tests/stream/sample_peers.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

/// A forecaster behind the server, as a stream has it.
class Forecasts {
 public:
  Forecasts(ServerStage* stage, const ForecastSettings& settings)
      : forecasting_(settings, SpecOf(settings, *Layer::Parse("lstm 4"))) {
    forecasting_.on_forecast = [stage](const Forecast& forecast) { stage->server->Give(forecast); };
    stage->take = [this](const Sample& sample) {
      Forecaster& forecaster = forecasting_.forecaster;
      const std::uint64_t rows = forecaster.totals().rows;
      const Refusal refusal = forecaster.Take(sample, 1'000'000 * kSecond);
      return SampleOutcome{refusal, forecaster.totals().rows > rows,
                           forecaster.IsDue(sample.device)};
    };
    stage->predict = [this] { forecasting_.forecaster.Predict(); };
  }
  Forecaster& forecaster() { return forecasting_.forecaster; }

 private:
  Forecasting forecasting_;
};

TEST(SampleServer, EachSampleIsAnsweredByTheForecastOfItsRow) {
  ServerStage stage;
  Forecasts forecasts(&stage, OneField(4));
  RawPeer one(stage.address(), 1), two(stage.address(), 2);
  stage.Greet(&one);
  stage.Greet(&two);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    // Both devices in one round, and two rows of one of them.
    ASSERT_TRUE(one.Send(SampleOf("a", static_cast<float>(i)), 2 * i - 1));
    ASSERT_TRUE(one.Send(SampleOf("a", static_cast<float>(i) + 0.5f), 2 * i));
    ASSERT_TRUE(two.Send(SampleOf("b", 10 * static_cast<float>(i)), i));
    std::uint64_t number = 0;
    wire::Forecast said = stage.Hear<wire::Forecast>(&one, &number);
    EXPECT_EQ(number, 2 * i - 1);
    EXPECT_EQ(said.row, 2 * i - 2);
    EXPECT_EQ(said.values.at(0).baseline, static_cast<float>(i));  // the last value
    said = stage.Hear<wire::Forecast>(&one, &number);
    EXPECT_EQ(number, 2 * i);
    EXPECT_EQ(said.row, 2 * i - 1);
    EXPECT_EQ(said.values.at(0).baseline, static_cast<float>(i) + 0.5f);
    said = stage.Hear<wire::Forecast>(&two, &number);
    EXPECT_EQ(number, i);
    EXPECT_EQ(said.row, i - 1);
    EXPECT_EQ(said.values.at(0).baseline, 10 * static_cast<float>(i));
  }
  EXPECT_EQ(stage.server->counters().samples, 9u);
  EXPECT_EQ(stage.server->counters().answers, 9u);
}

TEST(SampleServer, ARowThatSomebodyElseMadeIsNobodysAnswer) {
  ServerStage stage;
  Forecasts forecasts(&stage, OneField(4));
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  Sample by_broker;
  by_broker.device = "a";
  by_broker.values = {7};
  by_broker.time_ns = kSecond;
  ASSERT_TRUE(peer.Send(SampleOf("a", 8, {}, 2 * kSecond), 1));
  while (!stage.server->Readable()) stage.server->Wait(10);
  ASSERT_EQ(forecasts.forecaster().Take(by_broker, kSecond), Refusal::kNone);  // waits
  std::uint64_t number = 0;
  const auto said = stage.Hear<wire::Forecast>(&peer, &number);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(said.row, 1u);
  EXPECT_EQ(said.values.at(0).baseline, 8);
  EXPECT_FALSE(peer.HasMore());
}

TEST(SampleServer, OnAGridASampleIsAnsweredByTheRowItMadeOrTaken) {
  SampleServerSettings settings = ServerSettings("");
  settings.forecast.every_s = 10;
  ServerStage stage(settings);
  ForecastSettings grid = OneField(4);
  grid.every_s = 10;
  grid.max_gap = 2;
  Forecasts forecasts(&stage, grid);
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  std::uint64_t number = 0;
  ASSERT_TRUE(peer.Send(SampleOf("a", 1, {}, 1 * kSecond), 1));
  (void)stage.Hear<wire::Taken>(&peer, &number);
  EXPECT_EQ(number, 1u);
  // Closes the cell of 1, and an empty one after it: the last row is the answer.
  ASSERT_TRUE(peer.Send(SampleOf("a", 2, {}, 25 * kSecond), 2));
  auto said = stage.Hear<wire::Forecast>(&peer, &number);
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(said.row, 1u);
  EXPECT_EQ(said.time_ns, 20 * kSecond);
  EXPECT_EQ(said.due_ns.at(0), 30 * kSecond);
  // Closes the cell of 2, whose row is forecast at once, because the device then begins again.
  ASSERT_TRUE(peer.Send(SampleOf("a", 3, {}, 1000 * kSecond), 3));
  said = stage.Hear<wire::Forecast>(&peer, &number);
  EXPECT_EQ(number, 3u);
  EXPECT_EQ(said.row, 2u);
  EXPECT_EQ(said.values.at(0).baseline, 2);
  EXPECT_FALSE(peer.HasMore());
}

TEST(SampleServer, WhatIsRefusedIsSaidInAWord) {
  ServerStage stage;
  Forecasts forecasts(&stage, OneField(4));
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  std::uint64_t number = 0;
  const auto refused = [&](const wire::Sample& sample, std::uint64_t n) {
    EXPECT_TRUE(peer.Send(sample, n));
    const auto said = stage.Hear<wire::Refused>(&peer, &number);
    EXPECT_EQ(number, n);
    EXPECT_FALSE(said.sentence.empty());
    return said.word;
  };
  ASSERT_TRUE(peer.Send(SampleOf("a", 1, 5), 1));
  (void)stage.Hear<wire::Forecast>(&peer);
  EXPECT_EQ(refused(SampleOf("a", 1, 5), 2), "duplicate");
  EXPECT_EQ(refused(SampleOf("", 1, 6), 3), "empty_device");
  EXPECT_EQ(refused(SampleOf("a/b", 1, 6), 4), "bad_device_name");
  EXPECT_EQ(refused({"a", 0, 6, "", {1, 2}}, 5), "malformed");
  EXPECT_EQ(refused(SampleOf("a", std::nanf(""), 6), 6), "no_field");
  EXPECT_EQ(refused(SampleOf("a", 1, 6, -1), 7), "bad_time");
  EXPECT_EQ(stage.refused.size(), 5u);  // the duplicate was for the forecaster to see
  ASSERT_TRUE(peer.Send(SampleOf("a", 2, 6), 8));
  EXPECT_EQ(stage.Hear<wire::Forecast>(&peer).row, 1u);
}

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

TEST(SampleServer, WhatIsCommittedIsToldToWhoSentItAndAllOfItToWhoComes) {
  ServerStage stage;
  stage.server->Commit({{"old", 9}});
  RawPeer one(stage.address(), 1), two(stage.address(), 2);
  const auto first = stage.Greet(&one);
  ASSERT_EQ(first.devices.size(), 1u);
  EXPECT_EQ(first.devices[0].device, "old");
  EXPECT_EQ(first.devices[0].sequence, 9u);
  EXPECT_TRUE(first.complete);
  stage.Greet(&two);
  ASSERT_TRUE(one.Send(SampleOf("a", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&one);
  ASSERT_TRUE(two.Send(SampleOf("b", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&two);
  stage.server->Commit({{"old", 9}, {"a", 1}, {"b", 2}});
  const auto told = stage.Hear<wire::SamplesCommitted>(&two);
  ASSERT_EQ(told.devices.size(), 1u);
  EXPECT_EQ(told.devices[0].device, "b");
  EXPECT_EQ(told.devices[0].sequence, 2u);
  EXPECT_EQ(stage.Hear<wire::SamplesCommitted>(&one).devices.at(0).device, "a");
}

TEST(SampleServer, ThousandsOfCommittedDevicesAreToldInManyMessages) {
  ServerStage stage;
  SampleServer::Committed committed;
  for (std::uint64_t i = 0; i < 3000; ++i) committed.emplace_back("d" + std::to_string(i), i);
  stage.server->Commit(committed);
  RawPeer peer(stage.address());
  ASSERT_TRUE(peer.Send(wire::StreamHello{}));
  (void)stage.Hear<wire::StreamOk>(&peer);
  std::uint64_t next = 0;
  for (bool complete = false; !complete;) {
    const auto told = stage.Hear<wire::SamplesCommitted>(&peer);
    ASSERT_FALSE(told.devices.empty());
    for (const auto& [device, sequence] : told.devices) EXPECT_EQ(sequence, next++);
    complete = told.complete;
  }
  EXPECT_EQ(next, 3000u);
  EXPECT_FALSE(stage.server->has_news());
}

TEST(SampleServer, WhoIsGoneWithoutAGoodbyeIsNoNewsForEver) {
  ServerStage stage;
  auto gone = std::make_unique<RawPeer>(stage.address(), 1);
  stage.Greet(gone.get());
  ASSERT_TRUE(gone->Send(SampleOf("a", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(gone.get());
  gone.reset();
  const std::int64_t end_ns = MonotonicNs() + static_cast<std::int64_t>(kPatienceS * 1e9);
  do {
    stage.server->Commit({{"a", 1}});
    stage.server->Wait(1);
    stage.Round();
    EXPECT_FALSE(stage.server->has_news());
  } while (stage.server->peers() > 0 && MonotonicNs() < end_ns);
  EXPECT_EQ(stage.server->peers(), 0u);
}

TEST(SampleServer, WhoDoesNotReadIsNoNewsUntilTheNextSecond) {
  constexpr std::uint64_t kCommits = 20'000;  // more than the queues and the socket hold
  const std::string device(60, 'd');
  ServerStage stage;
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  ASSERT_TRUE(peer.Send(SampleOf(device, 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&peer);
  for (std::uint64_t i = 1; i <= kCommits; ++i) {
    stage.server->Commit({{device, i}});
    stage.server->EndRound();
    ASSERT_FALSE(stage.server->has_news()) << i;
  }
  std::uint64_t heard = 0, last = 0;
  for (; last != kCommits; ++heard) {
    const auto told = peer.Hear([&] {
      stage.now_ns += kSecond / 20;
      stage.Round();
    });
    ASSERT_TRUE(told && std::holds_alternative<wire::SamplesCommitted>(told->body));
    last = std::get<wire::SamplesCommitted>(told->body).devices.at(0).sequence;
  }
  EXPECT_LT(heard, kCommits) << "its queue was never full";
}

TEST(SampleServer, WhoSendsAgainWhatIsKnownIsToldThatItIsCommitted) {
  ServerStage stage;
  RawPeer before(stage.address(), 1), after(stage.address(), 1);
  stage.Greet(&before);
  ASSERT_TRUE(before.Send(SampleOf("a", 1, 1), 1));
  (void)stage.Hear<wire::Taken>(&before);
  stage.take = [](const Sample&) { return SampleOutcome{Refusal::kDuplicate}; };
  stage.Greet(&after);
  ASSERT_TRUE(after.Send(SampleOf("a", 1, 1), 1));
  EXPECT_EQ(stage.Hear<wire::Refused>(&after).word, "duplicate");
  stage.server->Commit({{"a", 1}});
  EXPECT_EQ(stage.Hear<wire::SamplesCommitted>(&after).devices.at(0).sequence, 1u);
}

TEST(SampleServer, AForecastOfAnEarlierRowIsNoAnswerToASampleThatMadeNone) {
  ServerStage stage;
  bool made_rows = false;
  stage.take = [&](const Sample& sample) {
    stage.server->Give({sample.device, 6, 0, 0, {}, {}});
    return SampleOutcome{Refusal::kNone, made_rows, false};
  };
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 1));
  (void)stage.Hear<wire::Taken>(&peer);
  made_rows = true;
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 2));
  EXPECT_EQ(stage.Hear<wire::Forecast>(&peer).row, 6u);
}

TEST(SampleServer, AFloodOfHellosIsNotAnsweredByAllThatIsCommittedAndOneQueueOfThemIs) {
  ServerStage stage;
  stage.server->Commit({{"old", 9}});
  RawPeer patient(stage.address(), 1), flood(stage.address(), 2);
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(patient.Send(wire::StreamHello{}));
  ASSERT_TRUE(patient.Send(SampleOf("a", 1), 1));
  while (stage.server->counters().samples == 0) {  // all of it before the end of the round
    stage.server->Wait(1);
    stage.server->TakeSome();
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
