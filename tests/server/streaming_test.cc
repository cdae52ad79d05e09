// Streaming: when it answers, learns and speaks of itself.
#include "tests/server/stream_life.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

TEST_F(StreamingRounds, ADevicesErrorsGoOutAtOnceAndThenTheNewestOnceASecond) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  for (int i = 1; i <= 5; ++i) Send(&life, i);
  Send(&life, 1, "b");
  AwaitQuiet(&life);
  ASSERT_EQ(News("sensors/a/error").size(), 1u);
  EXPECT_EQ(News("sensors/a/error")[0]["temp"]["count"], 0);
  EXPECT_EQ(News("sensors/b/error").size(), 1u) << "another device has a second of its own";

  clock_.Ahead(999 * kMs);
  AwaitQuiet(&life);
  EXPECT_EQ(News("sensors/a/error").size(), 1u);
  clock_.Ahead(1 * kMs);  // no message comes
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/a/error").size() == 2; }));
  EXPECT_EQ(News("sensors/a/error")[1]["temp"]["count"], 4) << "each row but the first was scored";

  clock_.Ahead(5000 * kMs);  // nothing new: nothing is said, and the next is said at once
  AwaitQuiet(&life);
  EXPECT_EQ(News("sensors/a/error").size(), 2u);
  EXPECT_EQ(News("sensors/b/error").size(), 1u);
  Send(&life, 6);
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/a/error").size() == 3; }));
}

TEST_F(StreamingRounds, AtMostTwoBatchesAreUnderWay) {
  Life life(broker_, &clock_);
  BeginLife(&life);
  Send(&life, 1);
  EXPECT_EQ(life.Given(), 0) << "one row is no pair";
  for (int i = 2; i <= 5; ++i) Send(&life, i);
  EXPECT_EQ(life.Given(), 2);
  EXPECT_EQ(life.channel->environment_steps, 0u);
  ASSERT_TRUE(life.Learn());
  EXPECT_EQ(life.channel->environment_steps, 1u) << "the first batch had the first pair";
  ASSERT_TRUE(Until(&life, [&] { return life.Given() == 2; }));
  EXPECT_TRUE(Until(&life, [&] {
    (void)life.Learn();
    return life.channel->environment_steps == 4u;
  })) << life.channel->environment_steps;
  EXPECT_EQ(life.channel->environment_steps, 4u) << "five rows are four pairs";
  EXPECT_EQ(life.stream->Metrics().Count(kStreamUnlearned), 0u);
}

TEST_F(StreamingRounds, APairWaitsForCompanyAsLongAsItMayAndNoLonger) {
  Life life(broker_, &clock_, "max_delay_ms = 100\n");
  BeginLife(&life);
  Send(&life, 1);
  Send(&life, 2);
  AwaitQuiet(&life);
  EXPECT_EQ(life.Given(), 0);
  clock_.Ahead(99 * kMs);
  Send(&life, 1, "b");
  Send(&life, 2, "b");
  EXPECT_EQ(life.Given(), 0);
  clock_.Ahead(1 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.Given(), 1);
  ASSERT_TRUE(life.Learn());
  EXPECT_EQ(life.channel->environment_steps, 2u) << "both devices' pairs in one batch";
}

TEST_F(StreamingRounds, NewWeightsForecastFromTheNextRoundOn) {
  Life life(broker_, &clock_);
  BeginLife(&life);
  Send(&life, 1);
  Send(&life, 2);
  const std::uint64_t first = life.learner->version();
  EXPECT_EQ(News("sensors/a/forecast").back()["version"], first);
  ASSERT_TRUE(life.Learn());
  Send(&life, 3);
  EXPECT_EQ(News("sensors/a/forecast").back()["version"], life.learner->version());
  EXPECT_GT(life.learner->version(), first);
}

TEST_F(StreamingRounds, EachKindOfRefusalIsLoggedAtOnceAndThenOnceAMinute) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  const auto refuse = [&](int times) {
    for (int i = 0; i < times; ++i) probe_->link->Publish("sensors/a/data", "{", 1);
    AwaitQuiet(&life);
  };
  refuse(3);
  EXPECT_EQ(life.Said("refused"), 0);
  clock_.Ahead(1000 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.Said("stream temp: refused 3 messages (malformed): "), 1);
  refuse(2);
  clock_.Ahead(59'999 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.Said("refused"), 1);
  clock_.Ahead(1000 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.Said("refused 2 messages (malformed)"), 1);
  EXPECT_EQ(life.Said("refused"), 2);
  EXPECT_EQ(life.numbers["stream/refused"], 5);
}

TEST_F(StreamingRounds, NumbersAndTheWordOfItsLifeComeOnceASecond) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  AwaitQuiet(&life);
  const std::size_t before = News("sensors/forecaster").size();  // as it came up
  for (int i = 1; i <= 4; ++i) Send(&life, i);
  AwaitQuiet(&life);
  EXPECT_EQ(life.seconds, 0);
  EXPECT_EQ(News("sensors/forecaster").size(), before);
  clock_.Ahead(2000 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.seconds, 1);
  EXPECT_EQ(life.numbers["stream/messages_per_s"], 2) << "four in two seconds";
  EXPECT_EQ(life.numbers["stream/devices"], 1);
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/forecaster").size() == before + 1; }));
  const Json said = News("sensors/forecaster").back();
  EXPECT_EQ(said["state"], "forecasting");
  EXPECT_EQ(said["since"], 1'700'000'000);
  EXPECT_EQ(said["taken"], 4);
}

TEST_F(StreamingRounds, FieldsThatWereNotUsableAreCountedInEachView) {
  Life life(broker_, &clock_, "learn = false\n[stream.temp.field.temp]\nhigh = 50\n");
  BeginLife(&life);
  Send(&life, 1);
  Publish("a", {{"temp", 51}, {"hum", 1}, {"seq", 2}});
  Publish("a", {{"temp", 21}, {"seq", 3}});
  Publish("a", {{"temp", 22}, {"hum", "wet"}, {"seq", 4}});
  ASSERT_TRUE(Until(&life, [&] { return Taken(life) == 4; }));
  const Reading reading = life.stream->Metrics();
  const auto count = [&](const Metric& metric, const std::string& field) -> std::uint64_t {
    for (const MetricSample& sample : reading.samples())
      if (*sample.metric == metric && sample.label == field) return sample.value.count();
    return ~std::uint64_t{0};
  };
  EXPECT_EQ(count(kFieldOutOfRange, "temp"), 1u);
  EXPECT_EQ(count(kFieldMissing, "temp") + count(kFieldWrongType, "temp"), 0u);
  EXPECT_EQ(count(kFieldMissing, "hum"), 1u);
  EXPECT_EQ(count(kFieldWrongType, "hum"), 1u);
  clock_.Ahead(1000 * kMs);
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/forecaster").back().contains("fields"); }));
  EXPECT_EQ(News("sensors/forecaster").back()["fields"],
            Json::parse(R"({"temp":{"out_of_range":1},"hum":{"missing":1,"wrong_type":1}})"));
}

TEST_F(StreamingRounds, WhatWasSavedGoesOnAndIsToldAgainWhenItComesUp) {
  SavedState state;
  {
    Life life(broker_, &clock_);
    BeginLife(&life);
    EXPECT_FALSE(life.stream->unsaved());
    for (int i = 1; i <= 3; ++i) Send(&life, i);
    ASSERT_TRUE(life.Learn());
    EXPECT_TRUE(life.stream->unsaved());
    life.stream->Save(StateWriter(&state, "stream"));  // the second pair is given, or waits
    EXPECT_FALSE(life.stream->unsaved());
    EXPECT_TRUE(News("sensors/a/committed").empty()) << "it is not on any disk";
    life.stream->Commit(StateReader(state, "stream"));
    ASSERT_TRUE(Until(&life, [&] { return !News("sensors/a/committed").empty(); }));
    EXPECT_EQ(News("sensors/a/committed").back(), Json::parse(R"({"device":"a","sequence":3})"));
    Send(&life, 4);  // which dies with it
  }
  probe_->got.clear();
  Life life(broker_, &clock_);
  ASSERT_TRUE(life.stream->Load(StateReader(state, "stream")).ok());
  EXPECT_EQ(life.channel->environment_steps, 1u);
  BeginLife(&life);
  EXPECT_FALSE(life.stream->unsaved()) << "all that it knows is what was saved";
  ASSERT_TRUE(Until(&life, [&] { return !News("sensors/a/committed").empty(); }));
  EXPECT_EQ(News("sensors/a/committed").back()["sequence"], 3);
  ASSERT_TRUE(Until(&life, [&] { return life.Given() == 1; }));
  ASSERT_TRUE(life.Learn());
  EXPECT_EQ(life.channel->environment_steps, 2u) << "the pair that nobody had learned";

  Publish("a", {{"temp", 20}, {"hum", 1}, {"seq", 3}});
  Send(&life, 4);
  EXPECT_EQ(Taken(life), 4u);
  const auto refused = Refused(*life.stream);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].first, "duplicate");
  EXPECT_EQ(refused[0].second, 1u);
  EXPECT_TRUE(life.stream->unsaved());
}

TEST_F(StreamingRounds, WhatIsRefusedLeavesNothingToSave) {
  Life life(broker_, &clock_);
  BeginLife(&life);
  probe_->link->Publish("sensors/a/data", "{", 1);
  ASSERT_TRUE(Until(&life, [&] { return !Refused(*life.stream).empty(); }));
  EXPECT_FALSE(life.stream->unsaved());
  Publish("a", {{"temp", 20}, {"hum", nullptr}, {"seq", 1}});  // no row: hum was never known
  ASSERT_TRUE(Until(&life, [&] { return Taken(life) == 1; }));
  EXPECT_TRUE(life.stream->unsaved()) << "its number must not come twice";
}

TEST_F(StreamingRounds, ItsThreadSaysGoodbyeAfterTheNewestErrors) {
  Life life(broker_, &clock_, "learn = false\n");
  life.stream->Start(0);
  ASSERT_TRUE(probe_->Until([&] { return !News("sensors/forecaster").empty(); }));
  for (int i = 1; i <= 3; ++i) {
    Publish("a", {{"temp", 20}, {"hum", 1}, {"seq", i}});
    ASSERT_TRUE(probe_->Until(
        [&] { return News("sensors/a/forecast").size() == static_cast<std::size_t>(i); }));
  }
  life.stream->Stop();
  ASSERT_TRUE(
      probe_->Until([&] { return News("sensors/forecaster").back()["state"] == "offline"; }));
  ASSERT_EQ(News("sensors/a/error").size(), 2u);
  EXPECT_EQ(News("sensors/a/error").back()["temp"]["count"], 2);
}

}  // namespace
}  // namespace murmurate
