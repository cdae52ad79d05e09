// What a stream counts of its messages, and says of each.
#include "tests/server/stream_life.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

TEST_F(StreamingRounds, MessagesThatSwapPlacesAreTakenAndAnsweredByTheirNumbers) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  const std::vector<int> order = {1, 2, 4, 3, 6, 5};
  for (const int seq : order) Publish("a", {{"temp", 20}, {"hum", 1}, {"seq", seq}});
  Publish("a", {{"temp", 20}, {"hum", 1}, {"seq", 5.0}});  // sent again, as Python's json may
  ASSERT_TRUE(Until(&life, [&] {
    return Taken(life) == 6 && News("sensors/a/forecast").size() == 6 &&
           !Refused(*life.stream).empty();
  }));
  const Reading view = life.stream->Metrics();
  EXPECT_EQ(view.Count(kStreamGaps), 0u);
  EXPECT_EQ(view.Count(kStreamLate), 2u);
  EXPECT_EQ(view.Count(kStreamRows), 6u);
  EXPECT_EQ(view.Count(kStreamForecasts), 6u);
  EXPECT_EQ(view.Count(kStreamReceived), 7u);
  EXPECT_THAT(Refused(*life.stream), ElementsAre(Counted("duplicate", 1)));
  std::vector<int> answered;
  for (const Json& said : News("sensors/a/forecast")) answered.push_back(said["seq"]);
  EXPECT_EQ(answered, order);
  EXPECT_FALSE(News("sensors/a/forecast").back()["temp"].contains("low"));
}

TEST_F(StreamingRounds, AMeterIsPublishedToItsLastDigit) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  for (int i = 1; i <= 3; ++i)
    Publish("a", {{"temp", 123'456'789 + 3 * i}, {"hum", 1}, {"seq", i}});
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/a/forecast").size() == 3; }));
  EXPECT_EQ(News("sensors/a/forecast").back()["temp"]["forecast"], 123'456'798);
  clock_.Ahead(1000 * kMs);
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/a/error").size() == 2; }));
  EXPECT_EQ(News("sensors/a/error").back()["temp"]["baseline_error"], 3);
}

TEST_F(StreamingRounds, ADeviceThatNeverMakesARowIsLoggedOnceWithAdvice) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  for (int i = 1; i <= 40; ++i)
    Publish("a", i % 2 == 0 ? Json{{"temp", 20}, {"seq", i}} : Json{{"hum", 1}, {"seq", i}});
  ASSERT_TRUE(Until(&life, [&] { return Taken(life) == 40; }));
  for (int i = 0; i < 3; ++i) {
    clock_.Ahead(61'000 * kMs);
    life.stream->PollOnce(0);
  }
  EXPECT_EQ(life.Said("device a has sent 20 messages and none with a value for every field"), 1);
  EXPECT_EQ(life.Said("set 'every' to join those of one cell"), 1);
  const Reading view = life.stream->Metrics();
  EXPECT_EQ(view.Count(kStreamRows), 0u);
  EXPECT_EQ(view.Count(kStreamIncomplete), 40u);
  EXPECT_EQ(view.Count(kStreamReceived), 40u);
  EXPECT_THAT(view[kStreamStuck].text(), HasSubstr("device a has sent 20 messages"));
}

TEST_F(StreamingRounds, WhatIsTooLargeForTheLinkIsCountedAndLoggedLikeOtherRefusals) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  probe_->link->Publish("sensors/a/data", std::string(200'000, ' '), 1);
  Send(&life, 1);
  clock_.Ahead(1000 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.Said("refused 1 messages (oversized)"), 1);
  const Reading view = life.stream->Metrics();
  EXPECT_THAT(Refused(*life.stream), ElementsAre(Counted("oversized", 1)));
  EXPECT_EQ(view.Count(kStreamReceived), 2u);
  EXPECT_EQ(life.numbers["stream/refused"], 1);
}

TEST_F(StreamingRounds, RefusalsGoOnFromACheckpointSoThatSumsClose) {
  SavedState state;
  {
    Life life(broker_, &clock_, "learn = false\n");
    BeginLife(&life);
    for (const int seq : {1, 2, 2, 3}) Publish("a", {{"temp", 20}, {"hum", 1}, {"seq", seq}});
    ASSERT_TRUE(Until(&life, [&] { return life.stream->Metrics().Count(kStreamReceived) == 4; }));
    life.stream->Save(StateWriter(&state, "stream"));
  }
  Life life(broker_, &clock_, "learn = false\n");
  ASSERT_TRUE(life.stream->Load(StateReader(state, "stream")).ok());
  BeginLife(&life);
  for (const int seq : {3, 4}) Publish("a", {{"temp", 20}, {"hum", 1}, {"seq", seq}});
  ASSERT_TRUE(Until(&life, [&] { return life.stream->Metrics().Count(kStreamReceived) == 6; }));
  const Reading view = life.stream->Metrics();
  EXPECT_EQ(view.Count(kStreamMessages), 4u);
  EXPECT_THAT(Refused(*life.stream), ElementsAre(Counted("duplicate", 2)));
  clock_.Ahead(1000 * kMs);
  life.stream->PollOnce(0);
  EXPECT_EQ(life.Said("refused 1 messages (duplicate)"), 1) << "of this life alone";
}

}  // namespace
}  // namespace murmurate
