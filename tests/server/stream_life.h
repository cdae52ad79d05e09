// Runs a Streaming round by round on the test's thread, with a broker and a clock of its own. The
// test's thread is also the learning thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "server/config/model_settings.h"
#include "server/learn/learner.h"
#include "server/metrics/stream_metrics.h"
#include "server/stream/config_stream.h"
#include "server/stream/streaming.h"
#include "tests/server/config_text.h"
#include "tests/stream/probe.h"

namespace murmurate {

inline constexpr std::int64_t kMs = kNanosecondsPerMillisecond;

struct Clock {
  std::int64_t now_ns = 1'000 * kNanosecondsPerSecond;
  std::int64_t unix_ns = 1'700'000'000 * kNanosecondsPerSecond;
  void Ahead(std::int64_t ns) {
    now_ns += ns;
    unix_ns += ns;
  }
};

using Counted = std::pair<std::string, std::uint64_t>;

/// What a stream refused, by reason.
inline std::vector<Counted> Refused(const Streaming& stream) {
  std::vector<Counted> refused;
  const Reading reading = stream.Metrics();
  for (const MetricSample& sample : reading.samples())
    if (*sample.metric == kStreamRefusals) refused.emplace_back(sample.label, sample.value.count());
  return refused;
}

/// One life of a stream, the lines that it logged, and the learner of its batches.
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
    const auto settings = ModelForStream(*config, config->streams().front());
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
    stream->ApplyWeights(learner->MakeSnapshot());
    stream->OnTrained();
    (*batch)->Clear();
    EXPECT_TRUE(channel->empty.TryPush(*std::move(batch)));
    return true;
  }
  /// How many batches are ready; they stay ready.
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
  std::uint64_t Taken(const Life& life) const {
    return life.stream->Metrics().Count(kStreamMessages);
  }
  std::vector<nlohmann::json> News(const std::string& topic) const {
    std::vector<nlohmann::json> all;
    for (const auto& got : probe_->got)
      if (got.topic == topic && !got.retained) all.push_back(nlohmann::json::parse(got.payload));
    return all;
  }
  void BeginLife(Life* life) {
    ASSERT_TRUE(Until(life, [&] { return !life->stream->Metrics()[kStreamUp].zero(); }));
    life->stream->ApplyWeights(life->learner->MakeSnapshot());
  }
  /// Publishes message `seq` of a device and waits for its forecast.
  void Send(Life* life, int seq, const std::string& device = "a") {
    const std::size_t before = News("sensors/" + device + "/forecast").size();
    Publish(device, {{"temp", 20 + seq % 3}, {"hum", 1}, {"seq", seq}});
    ASSERT_TRUE(
        Until(life, [&] { return News("sensors/" + device + "/forecast").size() > before; }));
  }
  void Publish(const std::string& device, const nlohmann::json& payload) {
    probe_->link->Publish("sensors/" + device + "/data", payload.dump(), 1);
  }
  /// Returns when all messages published before have come: the broker has acknowledged those of the
  /// probe, and then a mark of another client comes last.
  void AwaitQuiet(Life* life) {
    const std::string mark = std::to_string(++marks_);
    ASSERT_TRUE(Until(life, [&] { return !life->stream->Metrics()[kStreamUp].zero(); }));
    ASSERT_TRUE(Until(life, [&] { return probe_->link->in_flight() == 0; }));
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

}  // namespace murmurate
