// Streaming, round by round on the test's thread, with a broker and a clock of its own; the test is
// the learning thread, too.
#include "server/streaming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "server/learn/learner.h"
#include "tests/server/config_text.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Json = nlohmann::json;

constexpr std::int64_t kMs = kNanosecondsPerMillisecond;

struct Clock {
  std::int64_t now_ns = 1'000 * kNanosecondsPerSecond;
  std::int64_t unix_ns = 1'700'000'000 * kNanosecondsPerSecond;
  void Ahead(std::int64_t ns) {
    now_ns += ns;
    unix_ns += ns;
  }
};

/// One life of a stream, what it said, and who learns from it.
class Life {
 public:
  Life(const Broker& broker, Clock* clock, const std::string& more = "") {
    const auto config =
        Load("[stream.temp]\nbroker = \"" + broker.address() +
             "\"\nsubscribe = \"sensors/{device}/data\"\nfields = [\"temp\", \"hum\"]\n"
             "target = \"temp\"\nsequence = \"/seq\"\nhidden = 4\nwindow = 4\nmax_batch = 4\n"
             "publish = \"sensors/{device}/forecast\"\nmetrics = \"sensors/{device}/error\"\n"
             "committed = \"sensors/{device}/committed\"\nstatus = \"sensors/forecaster\"\n" +
             more);
    EXPECT_TRUE(config.ok()) << config.status();
    const auto settings = config->ModelForStream(config->streams().front());
    EXPECT_TRUE(settings.ok()) << settings.status();
    const int length = settings->algorithm.trajectory_length;
    channel = std::make_shared<ExperienceChannel>(settings->spec, length,
                                                  settings->algorithm.batch_steps / length);
    learner.emplace(settings->spec, settings->algorithm, 7);
    StreamClock times;
    times.now_ns = [clock] { return clock->now_ns; };
    times.unix_ns = [clock] { return clock->unix_ns; };
    auto opened = Streaming::Open(
        config->streams().front(), false, channel,
        [this](std::span<const wire::ReportedNumber> all) {
          ++seconds;
          for (const auto& number : all) numbers[number.name] = number.sum / number.count;
        },
        [this](LogLevel, std::string_view line) { log.emplace_back(line); }, std::move(times));
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) stream = *std::move(opened);
  }

  /// One batch, as mmr-learn does it; false: there is none.
  bool Learn() {
    auto batch = channel->ready.TryPop();
    if (!batch) return false;
    learner->Learn(**batch, 0);
    stream->TakeWeights(learner->TakeSnapshot());
    stream->OnTrained();
    (*batch)->Clear();
    EXPECT_TRUE(channel->empty.TryPush(*std::move(batch)));
    return true;
  }
  /// How many batches lie there; they stay there.
  int Given() {
    std::vector<std::unique_ptr<TrainingBatch>> all;
    while (auto batch = channel->ready.TryPop()) all.push_back(*std::move(batch));
    const int count = static_cast<int>(all.size());
    for (auto& batch : all) EXPECT_TRUE(channel->ready.TryPush(std::move(batch)));
    return count;
  }
  int Said(const std::string& text) const {
    return static_cast<int>(std::ranges::count_if(
        log, [&](const std::string& line) { return line.find(text) != line.npos; }));
  }

  std::shared_ptr<ExperienceChannel> channel;
  std::optional<Learner> learner;
  std::map<std::string, double> numbers;
  int seconds = 0;  ///< times that numbers came
  std::vector<std::string> log;
  std::unique_ptr<Streaming> stream;
};

class StreamingRounds : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
    ASSERT_TRUE(broker_.Start());
    probe_.emplace(SettingsFor(broker_.address(), "sensors/#"));
    ASSERT_TRUE(probe_->UntilUp());
    marker_.emplace(SettingsFor(broker_.address()));
    ASSERT_TRUE(marker_->UntilUp());
  }
  bool Until(Life* life, const std::function<bool()>& condition) {
    return DriveUntil(kPatience, condition, [&] {
      probe_->link->PollOnce(1);
      marker_->link->PollOnce(0);
      life->stream->PollOnce(1);
    });
  }
  std::uint64_t Taken(const Life& life) const { return life.stream->View().messages; }
  std::vector<Json> News(const std::string& topic) const {
    std::vector<Json> all;
    for (const auto& got : probe_->got)
      if (got.topic == topic && !got.retained) all.push_back(Json::parse(got.payload));
    return all;
  }
  void BeginLife(Life* life) {
    ASSERT_TRUE(Until(life, [&] { return life->stream->View().up; }));
    life->stream->TakeWeights(life->learner->TakeSnapshot());
  }
  /// Message `seq` of a device, and until its forecast is here.
  void Send(Life* life, int seq, const std::string& device = "a") {
    const std::size_t before = News("sensors/" + device + "/forecast").size();
    Publish(device, {{"temp", 20 + seq % 3}, {"hum", 1}, {"seq", seq}});
    ASSERT_TRUE(
        Until(life, [&] { return News("sensors/" + device + "/forecast").size() > before; }));
  }
  void Publish(const std::string& device, const Json& payload) {
    probe_->link->Publish("sensors/" + device + "/data", payload.dump(), 1);
  }
  /// All that was published before has come: another's word comes after it.
  void Settle(Life* life) {
    const std::string mark = std::to_string(++marks_);
    ASSERT_TRUE(Until(life, [&] { return life->stream->View().up; }));
    for (int i = 0; i < 3; ++i) life->stream->PollOnce(1);  // what it published is written
    marker_->link->Publish("sensors/mark", mark, 1);
    ASSERT_TRUE(Until(life, [&] {
      return std::ranges::any_of(probe_->got, [&](const auto& got) {
        return got.topic == "sensors/mark" && got.payload == mark;
      });
    }));
  }

  Broker broker_;
  std::optional<Probe> probe_, marker_;
  Clock clock_;
  int marks_ = 0;
};

TEST_F(StreamingRounds, ADevicesErrorsGoOutAtOnceAndThenTheNewestOnceASecond) {
  Life life(broker_, &clock_, "learn = false\n");
  BeginLife(&life);
  for (int i = 1; i <= 5; ++i) Send(&life, i);
  Send(&life, 1, "b");
  Settle(&life);
  ASSERT_EQ(News("sensors/a/error").size(), 1u);
  EXPECT_EQ(News("sensors/a/error")[0]["temp"]["count"], 0);
  EXPECT_EQ(News("sensors/b/error").size(), 1u) << "another device has a second of its own";

  clock_.Ahead(999 * kMs);
  Settle(&life);
  EXPECT_EQ(News("sensors/a/error").size(), 1u);
  clock_.Ahead(1 * kMs);  // no message comes
  ASSERT_TRUE(Until(&life, [&] { return News("sensors/a/error").size() == 2; }));
  EXPECT_EQ(News("sensors/a/error")[1]["temp"]["count"], 4) << "each row but the first was scored";

  clock_.Ahead(5000 * kMs);  // nothing new: nothing is said, and the next is said at once
  Settle(&life);
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
  EXPECT_EQ(life.stream->View().unlearned, 0u);
}

TEST_F(StreamingRounds, APairWaitsForCompanyAsLongAsItMayAndNoLonger) {
  Life life(broker_, &clock_, "max_delay_ms = 100\n");
  BeginLife(&life);
  Send(&life, 1);
  Send(&life, 2);
  Settle(&life);
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
    Settle(&life);
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
  Settle(&life);
  const std::size_t before = News("sensors/forecaster").size();  // as it came up
  for (int i = 1; i <= 4; ++i) Send(&life, i);
  Settle(&life);
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
  const StreamView view = life.stream->View();
  ASSERT_EQ(view.fields.size(), 2u);
  EXPECT_EQ(view.fields[0].name, "temp");
  EXPECT_EQ(view.fields[0].out_of_range, 1u);
  EXPECT_EQ(view.fields[0].missing + view.fields[0].wrong_type, 0u);
  EXPECT_EQ(view.fields[1].name, "hum");
  EXPECT_EQ(view.fields[1].missing, 1u);
  EXPECT_EQ(view.fields[1].wrong_type, 1u);
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
  const auto refused = life.stream->View().refused;
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].first, "duplicate");
  EXPECT_EQ(refused[0].second, 1u);
  EXPECT_TRUE(life.stream->unsaved());
}

TEST_F(StreamingRounds, WhatIsRefusedLeavesNothingToSave) {
  Life life(broker_, &clock_);
  BeginLife(&life);
  probe_->link->Publish("sensors/a/data", "{", 1);
  ASSERT_TRUE(Until(&life, [&] { return !life.stream->View().refused.empty(); }));
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
