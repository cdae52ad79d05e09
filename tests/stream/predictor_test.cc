#include "murmurate/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/sample_peers.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using Outcome = Predictor::Outcome;
using Phase = Predictor::Phase;
using Sent = Predictor::Sent;

/// A server that this test drives, and a predictor on it.
class PredictorStage {
 public:
  explicit PredictorStage(SampleServerSettings settings = ServerSettings(""),
                          PredictorOptions options = {})
      : stage(settings), predictor(*Predictor::Connect(stage.address(), std::move(options))) {}

  /// Both sides work until `condition` holds; what comes is kept in `answers`.
  bool Until(const std::function<bool()>& condition) {
    const std::int64_t end_ns = MonotonicNs() + static_cast<std::int64_t>(kPatienceS * 1e9);
    while (!condition()) {
      if (MonotonicNs() > end_ns) return false;
      if (stage.server) stage.Round();
      Predictor::Answer answer;
      if (predictor->Receive(&answer, 1)) answers.push_back(std::move(answer));
    }
    return true;
  }
  bool UntilLive() {
    return Until([this] { return predictor->State().phase == Phase::kLive; });
  }
  bool UntilAnswers(std::size_t count) {
    return Until([&] { return answers.size() >= count; });
  }
  Sent Send(const std::string& device, float x, std::optional<std::uint64_t> sequence = {}) {
    const float values[] = {x};
    return predictor->Send(device, values, {0, sequence, "id-" + device});
  }

  ServerStage stage;
  std::unique_ptr<Predictor> predictor;
  std::vector<Predictor::Answer> answers;
};

/// Says of each sample that its forecast waits, and gives none.
SampleOutcome Waits(const Sample&) { return {Refusal::kNone, true, true}; }

TEST(Predictor, WithoutAStreamConnectReturnsAndSaysSo) {
  TemporaryFolder folder;
  const auto predictor = Predictor::Connect("ipc://" + folder.path() + "/nobody");
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  const float values[] = {1};
  EXPECT_EQ((*predictor)->Send("a", values), Sent::kNoStream);
  Predictor::Answer answer;
  EXPECT_FALSE((*predictor)->Receive(&answer, 5));
  EXPECT_EQ((*predictor)->State().phase, Phase::kNoStream);
  EXPECT_THAT((*predictor)->State().reason, HasSubstr("no stream answers at ipc://"));
  EXPECT_EQ((*predictor)->sessions(), 0u);
  EXPECT_TRUE((*predictor)->stream().fields.empty());
}

TEST(Predictor, BadArgumentsAreSentences) {
  EXPECT_THAT(Predictor::Connect("localhost").status().message(), HasSubstr("tcp://"));
  EXPECT_THAT(Predictor::Connect("tcp://127.0.0.1:1", {.name = "a b"}).status().message(),
              HasSubstr("a predictor's name: got \"a b\""));
  EXPECT_THAT(
      Predictor::Connect("tcp://127.0.0.1:1", {.name = "a", .stream = "/"}).status().message(),
      HasSubstr("a stream's name"));
}

TEST(Predictor, AnAnswerHasAllThatWasForecast) {
  SampleServerSettings settings = ServerSettings("");
  settings.forecast.horizons = {1, 6};
  settings.forecast.quantiles = {0.1, 0.9};
  settings.forecast.every_s = 10;
  PredictorStage stage(settings);
  ASSERT_TRUE(stage.UntilLive());
  EXPECT_THAT(stage.predictor->stream().fields, testing::ElementsAre("x"));
  EXPECT_THAT(stage.predictor->stream().horizons, testing::ElementsAre(1, 6));
  EXPECT_THAT(stage.predictor->stream().quantiles, testing::ElementsAre(0.1, 0.9));
  Sample seen;
  stage.stage.take = [&seen](const Sample& sample) {
    seen = sample;
    return SampleOutcome{Refusal::kNone, true, true};
  };
  ASSERT_EQ(stage.Send("a", 2.5f, 7), Sent::kTaken);
  EXPECT_EQ(stage.predictor->in_flight(), 1u);
  ASSERT_TRUE(stage.Until([&] { return !seen.device.empty(); }));
  EXPECT_EQ(seen.device, "a");
  EXPECT_EQ(seen.id, "id-a");
  EXPECT_EQ(seen.sequence, 7u);
  EXPECT_THAT(seen.values, testing::ElementsAre(2.5f));
  const std::vector<double> low_high = {1, 4, 0, 5}, values = {2.5};
  Prediction first{3, 3, 2.5f, std::span(low_high).first(2), true, {0.5f, 1, 0.5f, 0.75f, 20}};
  Prediction second{2.5f, 9, 2.5f, std::span(low_high).last(2), false, {}};
  const std::vector<Prediction> predictions = {first, second};
  const std::string device = "a";
  const std::int64_t kTen = 10 * kNanosecondsPerSecond;
  stage.stage.server->Give(
      {device, 4, 100 * kTen, 77, values, predictions, 0, AlarmChange::kRaised});
  ASSERT_TRUE(stage.UntilAnswers(1));
  const Predictor::Answer& answer = stage.answers[0];
  EXPECT_EQ(answer.outcome, Outcome::kForecast);
  EXPECT_EQ(answer.device, "a");
  EXPECT_EQ(answer.id, "id-a");
  EXPECT_EQ(answer.sequence, 7u);
  EXPECT_EQ(answer.row, 4u);
  EXPECT_EQ(answer.version, 77u);
  EXPECT_EQ(answer.time_ns, 100 * kTen);
  EXPECT_EQ(answer.alarm, Predictor::Alarm::kRaised);
  EXPECT_THAT(answer.due_ns, testing::ElementsAre(101 * kTen, 106 * kTen));
  ASSERT_EQ(answer.values.size(), 2u);
  EXPECT_EQ(answer.values[0].forecast, 3);
  EXPECT_TRUE(answer.values[0].by_model);
  EXPECT_EQ(answer.values[0].error, 0.5f);
  EXPECT_EQ(answer.values[0].skill(), 0.5f);
  EXPECT_EQ(answer.values[0].coverage, 0.75f);
  EXPECT_EQ(answer.values[0].count, 20u);
  EXPECT_EQ(answer.values[1].baseline, 2.5f);
  EXPECT_TRUE(std::isnan(answer.values[1].error));
  EXPECT_EQ(answer.values[1].skill(), 0);
  EXPECT_THAT(answer.quantiles, testing::ElementsAre(1, 4, 0, 5));
  EXPECT_EQ(stage.predictor->in_flight(), 0u);
}

TEST(Predictor, ValuesTravelAsDoublesBothWays) {
  PredictorStage stage;
  ASSERT_TRUE(stage.UntilLive());
  constexpr double kMeter = 123'456'792.25;  // no float32
  std::vector<double> seen;
  stage.stage.take = [&seen](const Sample& sample) {
    seen = sample.values;
    return SampleOutcome{Refusal::kNone, true, true};
  };
  const double values[] = {kMeter};
  ASSERT_EQ(stage.predictor->Send("a", values), Sent::kTaken);
  ASSERT_TRUE(stage.Until([&] { return !seen.empty(); }));
  EXPECT_THAT(seen, testing::ElementsAre(kMeter));
  const std::vector<double> low_high = {kMeter - 1, kMeter + 2};
  const std::vector<Prediction> predictions = {
      {kMeter + 0.5, kMeter + 0.5, kMeter, low_high, true, {}}};
  const std::string device = "a";
  stage.stage.server->Give({device, 1, kNanosecondsPerSecond, 7, seen, predictions});
  ASSERT_TRUE(stage.UntilAnswers(1));
  ASSERT_EQ(stage.answers[0].values.size(), 1u);
  EXPECT_EQ(stage.answers[0].values[0].forecast, kMeter + 0.5);
  EXPECT_EQ(stage.answers[0].values[0].model, kMeter + 0.5);
  EXPECT_EQ(stage.answers[0].values[0].baseline, kMeter);
  EXPECT_THAT(stage.answers[0].quantiles, testing::ElementsAre(kMeter - 1, kMeter + 2));
}

/// A ROUTER that answers as a stream of an earlier version did, which reads float32 alone.
TEST(Predictor, SendsFloatsToAStreamThatDoesNotReadDoubles) {
  TemporaryFolder folder;
  const std::string address = "ipc://" + folder.path() + "/old";
  SocketContext context;
  Socket router = *Socket::Open(context, SocketKind::kRouter);
  ASSERT_TRUE(router.Bind(address).ok());
  auto predictor = *Predictor::Connect(address);
  std::optional<wire::Sample> heard;
  Message message;
  const auto say = [&](const wire::Body& body) {
    const wire::Encoded encoded = wire::Encode(body, 9, 0);
    Message answer;
    answer.peer = message.peer;
    answer.frames.emplace_back(encoded.header);
    answer.frames.emplace_back(encoded.metadata);
    EXPECT_EQ(router.TrySend(answer), SendOutcome::kSent);
  };
  const double values[] = {123'456'792.25};
  const std::int64_t end_ns = MonotonicNs() + static_cast<std::int64_t>(kPatienceS * 1e9);
  while (!heard && MonotonicNs() < end_ns) {
    (void)predictor->Send("a", values);
    if (!router.TryReceive(&message)) continue;
    std::vector<std::span<const std::byte>> frames;
    for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
    auto decoded = std::get<wire::Decoded>(wire::Decode(frames));
    if (const auto* hello = std::get_if<wire::StreamHello>(&decoded.body)) {
      say(wire::StreamOk{9, hello->number, 16, "temp", {"x"}, {0}, {1}, {}});
      say(wire::SamplesCommitted{{}, true});
    }
    if (auto* sample = std::get_if<wire::Sample>(&decoded.body)) heard = std::move(*sample);
  }
  ASSERT_TRUE(heard.has_value());
  EXPECT_FALSE(heard->doubles);
  EXPECT_THAT(heard->values, testing::ElementsAre(123'456'792.0)) << "the nearest float32";
}

TEST(Predictor, WhatMadeNoRowAndWhatWasRefusedComesBackToo) {
  PredictorStage stage;
  ASSERT_TRUE(stage.UntilLive());
  stage.stage.take = [](const Sample& sample) {
    return SampleOutcome{sample.device == "twice" ? Refusal::kDuplicate : Refusal::kNone};
  };
  ASSERT_EQ(stage.Send("a", 1), Sent::kTaken);
  ASSERT_EQ(stage.Send("twice", 1), Sent::kTaken);
  ASSERT_TRUE(stage.UntilAnswers(2));
  EXPECT_EQ(stage.answers[0].outcome, Outcome::kTaken);
  EXPECT_EQ(stage.answers[1].outcome, Outcome::kRefused);
  EXPECT_EQ(stage.answers[1].device, "twice");
  EXPECT_EQ(stage.answers[1].reason, "duplicate");
  EXPECT_THAT(stage.answers[1].sentence, HasSubstr("sequence number"));
}

TEST(Predictor, ASampleOfOtherValuesIsNotSent) {
  PredictorStage stage;
  ASSERT_TRUE(stage.UntilLive());
  const float two[] = {1, 2}, one[] = {1};
  EXPECT_EQ(stage.predictor->Send("a", two), Sent::kBadSample);
  EXPECT_EQ(stage.predictor->Send("", one), Sent::kBadSample);
  EXPECT_EQ(stage.predictor->Send(std::string(129, 'a'), one), Sent::kBadSample);
  EXPECT_EQ(stage.predictor->in_flight(), 0u);
}

TEST(Predictor, NoMoreAreUnderWayThanTheCredit) {
  SampleServerSettings settings = ServerSettings("");
  settings.credit = 4;
  PredictorStage stage(settings);
  ASSERT_TRUE(stage.UntilLive());
  for (int round = 0; round < 100; ++round) {
    for (int i = 0; i < 4; ++i) ASSERT_EQ(stage.Send("a", 1), Sent::kTaken);
    ASSERT_EQ(stage.Send("a", 1), Sent::kNoCredit);
    ASSERT_EQ(stage.predictor->in_flight(), 4u);
    ASSERT_TRUE(stage.UntilAnswers(4));
    stage.answers.clear();
  }
  EXPECT_EQ(stage.stage.server->counters().samples, 400u);
  EXPECT_EQ(stage.stage.server->counters().refused[6], 0u);  // credit
}

TEST(Predictor, WhatIsNotReceivedKeepsItsPlace) {
  SampleServerSettings settings = ServerSettings("");
  settings.credit = 4;
  PredictorStage stage(settings);
  ASSERT_TRUE(stage.UntilLive());
  // One more than is received, always: the list of what is ready never empties.
  ASSERT_EQ(stage.Send("first", 1), Sent::kTaken);
  Predictor::Answer answer;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(stage.Send("a" + std::to_string(i), 1), Sent::kTaken);
    stage.stage.Round();
    bool received = false;
    for (int tries = 0; tries < 20'000 && !received; ++tries) {
      stage.stage.Round();
      received = stage.predictor->Receive(&answer, 1);
    }
    ASSERT_TRUE(received);
    EXPECT_EQ(answer.device, i == 0 ? "first" : "a" + std::to_string(i - 1));
    ASSERT_EQ(stage.predictor->in_flight(), 1u);
  }
}

TEST(Predictor, WhatWasUnansweredAtALossIsReportedAndTheSessionBeginsAgain) {
  PredictorStage stage;
  stage.stage.server->Commit({{"a", 3}});
  ASSERT_TRUE(stage.UntilLive());
  EXPECT_EQ(stage.predictor->sessions(), 1u);
  EXPECT_EQ(stage.predictor->Committed("a"), 3u);
  EXPECT_FALSE(stage.predictor->Committed("b").has_value());
  int taken = 0;
  stage.stage.take = [&taken](const Sample& sample) {
    ++taken;
    return Waits(sample);
  };
  ASSERT_EQ(stage.Send("a", 1, 4), Sent::kTaken);
  ASSERT_EQ(stage.Send("b", 1, 1), Sent::kTaken);
  ASSERT_TRUE(stage.Until([&] { return taken == 2; }));
  stage.stage.Open(ServerSettings(""));  // another life: nobody is known there
  stage.stage.server->Commit({{"a", 2}});
  ASSERT_TRUE(stage.UntilAnswers(2));
  EXPECT_EQ(stage.answers[0].outcome, Outcome::kUnanswered);
  EXPECT_EQ(stage.answers[0].device, "a");
  EXPECT_EQ(stage.answers[0].sequence, 4u);
  EXPECT_EQ(stage.answers[1].device, "b");
  ASSERT_TRUE(stage.Until([&] { return stage.predictor->sessions() == 2; }));
  ASSERT_TRUE(stage.UntilLive());
  EXPECT_EQ(stage.predictor->Committed("a"), 2u);  // less than before: what followed is gone
  stage.stage.take = {};
  ASSERT_EQ(stage.Send("a", 1, 3), Sent::kTaken);
  ASSERT_TRUE(stage.UntilAnswers(3));
  EXPECT_EQ(stage.answers[2].outcome, Outcome::kTaken);
}

TEST(Predictor, AfterAGoodbyeItLooksForTheNextLife) {
  PredictorStage stage;
  ASSERT_TRUE(stage.UntilLive());
  stage.stage.server->SayGoodbye();
  const auto server = std::exchange(stage.stage.server, nullptr);  // which does nothing more
  ASSERT_TRUE(stage.Until([&] { return stage.predictor->State().phase == Phase::kNoStream; }));
  EXPECT_THAT(stage.predictor->State().reason, HasSubstr("is stopping: the learner ends"));
  EXPECT_EQ(stage.Send("a", 1), Sent::kNoStream);
}

TEST(Predictor, AStreamThatIsSilentIsGivenUpAndTheNextOneFound) {
  PredictorStage stage;
  ASSERT_TRUE(stage.UntilLive());
  stage.stage.server.reset();
  ASSERT_TRUE(stage.Until([&] { return stage.predictor->State().phase == Phase::kNoStream; }));
  EXPECT_THAT(stage.predictor->State().reason, HasSubstr("has been silent for 3 s"));
  stage.stage.Open(ServerSettings(""));
  EXPECT_TRUE(stage.UntilLive());
  EXPECT_EQ(stage.predictor->sessions(), 2u);
}

TEST(Predictor, AStreamOfOtherFieldsIsARefusalWithItsReason) {
  PredictorStage stage(ServerSettings(""), {.fields = {"y"}});
  ASSERT_TRUE(stage.Until([&] { return stage.predictor->State().phase == Phase::kRefused; }));
  EXPECT_EQ(stage.predictor->State().reason,
            "stream temp has the fields x, not y: send these, in this order");
  EXPECT_EQ(stage.Send("a", 1), Sent::kNoStream);
}

TEST(Predictor, AStreamWithoutRoomIsNoRefusalAndIsAskedAgain) {
  SampleServerSettings settings = ServerSettings("");
  settings.max_peers = 1;
  PredictorStage stage(settings);
  RawPeer first(stage.stage.address(), 9);
  stage.stage.Greet(&first);
  ASSERT_TRUE(stage.Until([&] {
    return stage.predictor->State().reason.find("as many clients are here") != std::string::npos;
  }));
  EXPECT_EQ(stage.predictor->State().phase, Phase::kNoStream);
  ASSERT_TRUE(first.Send(wire::Bye{}));
  EXPECT_TRUE(stage.UntilLive());
}

TEST(Predictor, ACheckpointIsToldWhileWeWork) {
  PredictorStage stage;
  ASSERT_TRUE(stage.UntilLive());
  ASSERT_EQ(stage.Send("a", 1, 1), Sent::kTaken);
  ASSERT_TRUE(stage.UntilAnswers(1));
  EXPECT_FALSE(stage.predictor->Committed("a").has_value());
  stage.stage.server->Commit({{"a", 1}});
  EXPECT_TRUE(stage.Until([&] { return stage.predictor->Committed("a") == 1u; }));
}

TEST(Predictor, TwoOnOneStreamGetTheirOwnAnswers) {
  PredictorStage stage;
  auto other = *Predictor::Connect(stage.stage.address(), {.name = "other"});
  ASSERT_TRUE(stage.UntilLive());
  Predictor::Answer answer;
  const float values[] = {1};
  ASSERT_TRUE(stage.Until([&] { return other->Send("b", values, {0, 1, ""}) == Sent::kTaken; }));
  ASSERT_EQ(stage.Send("a", 1, 1), Sent::kTaken);
  ASSERT_TRUE(stage.Until([&] { return other->Receive(&answer, 1); }));
  ASSERT_TRUE(stage.UntilAnswers(1));
  EXPECT_EQ(answer.device, "b");
  EXPECT_EQ(stage.answers[0].device, "a");
  EXPECT_EQ(stage.stage.server->peers(), 2u);
  other.reset();  // says goodbye
  EXPECT_TRUE(stage.Until([&] { return stage.stage.server->peers() == 1; }));
}

}  // namespace
}  // namespace murmurate
