// `murmurate serve` of a stream that listens, with no broker: clients send samples and get
// forecasts, and whoever kills the daemon, however often, in the end each sample was taken once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "murmurate/predictor.h"
#include "tests/stream/daemon_kills.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using Outcome = Predictor::Outcome;
using Sent = Predictor::Sent;

class SampleKills : public DaemonKills {
 protected:
  std::string Address() const { return "ipc://" + place_.path() + "/s"; }
  void Serve() {
    DaemonKills::Serve(
        "[server]\nlisten = [\"ipc\"]\n[checkpoint]\nevery_s = 0.2\n[stream.temp]\n"
        "listen = \"" +
            Address() +
            "\"\nfields = [\"temp\", \"hum\", \"vib\"]\ntarget = \"temp\"\nhidden = 16\n",
        "stream temp: listens on " + Address());
  }
};

TEST_F(SampleKills, OfTheDaemonLoseAndDoubleNothingOfAFleet) {
  Serve();
  constexpr int kSeconds = 8;
  Process fleet(place_.path(),
                {"actor", "sensors", "--connect", Address(), "--devices", std::to_string(kDevices),
                 "--rate", std::to_string(kRate), "--seconds", std::to_string(kSeconds)});
  ASSERT_TRUE(AwaitCheckpoint());
  for (int i = 0; i < kKills; ++i) {
    AwaitSome();
    Kill();
    Resume();
  }
  ASSERT_TRUE(fleet.running()) << "too slow: it ended before all was killed";
  ASSERT_EQ(fleet.Wait(60), 0) << fleet.Errors();
  EXPECT_THAT(fleet.Output(), HasSubstr("sent 1,600 messages ("));
  EXPECT_TRUE(AwaitLearned());
  End();
  ExpectEachTakenOnce(kDevices, kRate * kSeconds);
  for (const auto& [word, count] : at_end_["refused"].items())
    EXPECT_THAT(word, testing::AnyOf("duplicate", "wire-not-registered")) << count;
}

/// Sends 1, 2, 3 ... of one device, and again what is not safe when a session begins.
class Careful {
 public:
  Careful(const std::string& address, std::string device)
      : predictor(*Predictor::Connect(address, {.name = device})), device_(std::move(device)) {}

  /// All up to `last` have been answered by who is there now.
  bool Deliver(std::uint64_t last) {
    return Eventually(40, [&] {
      if (std::exchange(sessions_, predictor->sessions()) != predictor->sessions())
        next_ = predictor->Committed(device_).value_or(0) + 1;
      while (next_ <= last && Send(next_) == Sent::kTaken) ++next_;
      Predictor::Answer answer;
      while (predictor->Receive(&answer, 0)) Note(answer);
      const bool here =
          predictor->State().phase == Predictor::Phase::kLive && sessions_ == predictor->sessions();
      return here && next_ > last && predictor->in_flight() == 0;
    });
  }
  Sent Send(std::uint64_t number) {
    const float wave = 20 + 5 * static_cast<float>(std::sin(0.3 * static_cast<double>(number)));
    const float values[] = {wave, 40, 0.1f};
    return predictor->Send(device_, values, {0, number, ""});
  }

  std::unique_ptr<Predictor> predictor;
  std::uint64_t forecasts = 0, duplicates = 0, unanswered = 0, others = 0;
  float last_baseline = 0;

 private:
  void Note(const Predictor::Answer& answer) {
    const bool duplicate = answer.outcome == Outcome::kRefused && answer.reason == "duplicate";
    forecasts += answer.outcome == Outcome::kForecast;
    duplicates += duplicate;
    unanswered += answer.outcome == Outcome::kUnanswered;
    others +=
        answer.outcome == Outcome::kTaken || (answer.outcome == Outcome::kRefused && !duplicate);
    if (answer.outcome == Outcome::kForecast) last_baseline = answer.values.at(0).baseline;
  }

  const std::string device_;
  std::uint64_t next_ = 1, sessions_ = 0;
};

TEST_F(SampleKills, TwoClientsOfTheirOwnDevicesGoOnAfterEachResume) {
  Serve();
  Careful one(Address(), "one"), two(Address(), "two");
  std::uint64_t last = 100;
  ASSERT_TRUE(one.Deliver(last));
  ASSERT_TRUE(two.Deliver(last));
  EXPECT_EQ(one.forecasts, 100u);
  EXPECT_NEAR(one.last_baseline, 20 + 5 * std::sin(0.3 * 100), 1e-4);
  EXPECT_EQ(one.predictor->stream().name, "temp");
  for (int kill = 1; kill <= kKills; ++kill) {
    // Until a checkpoint has some of what came since the last kill.
    const std::uint64_t before = last;
    ASSERT_TRUE(Eventually(20, [&] {
      ++last;
      return one.Deliver(last) && two.Deliver(last) &&
             one.predictor->Committed("one").value_or(0) >= before;
    }));
    (void)one.Send(last + 1);  // perhaps taken, and then forgotten
    Kill();
    Resume();
    last += 100;
    ASSERT_TRUE(one.Deliver(last));
    ASSERT_TRUE(two.Deliver(last));
    EXPECT_EQ(one.predictor->sessions(), static_cast<std::uint64_t>(kill) + 1);
  }
  EXPECT_EQ(one.others + two.others, 0u);
  const std::string status = RunMurmurate(place_.path(), {"status", "sensors"}).output;
  EXPECT_THAT(status, HasSubstr("stream temp: listens on " + Address() + " (2 clients), "));
  End();
  ExpectEachTakenOnce(2, last);
  EXPECT_TRUE(Eventually(20, [&] {
    Predictor::Answer answer;
    (void)one.predictor->Receive(&answer, 0);
    return one.predictor->State().phase == Predictor::Phase::kNoStream;
  }));
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(SampleKills, TheExampleProgramSendsAndIsAnswered) {
  place_.Write("s.toml", "[server]\nlisten = [\"ipc\"]\n[stream.temp]\nlisten = \"" + Address() +
                             "\"\nfields = [\"temp\"]\ntarget = \"temp\"\n");
  server_.emplace(place_.path(), std::vector<std::string>{"serve", "s.toml"});
  ASSERT_TRUE(server_->Says("listens on " + Address())) << server_->Errors();
  Process client(place_.path(), {Address(), "30"}, {MURMURATE_EXAMPLES "/sensors/sensor_client"});
  EXPECT_EQ(client.Wait(20), 0) << client.Errors();
  EXPECT_THAT(client.Output(), HasSubstr("\n30: next "));
}

TEST_F(SampleKills, AFleetOfOtherFieldsIsToldSo) {
  place_.Write("s.toml", "[server]\nlisten = [\"ipc\"]\n[stream.flow]\nlisten = \"" + Address() +
                             "\"\nfields = [\"flow\"]\ntarget = \"flow\"\n");
  server_.emplace(place_.path(), std::vector<std::string>{"serve", "s.toml"});
  ASSERT_TRUE(server_->Says("listens on " + Address())) << server_->Errors();
  const Ran ran =
      RunMurmurate(place_.path(), {"actor", "sensors", "--connect", Address(), "--seconds", "10"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("stream flow has the fields flow, not temp, hum, vib"));
}

TEST_F(SampleKills, AStreamThatOnlyListensSaysWhatWasMissing) {
  Serve();
  auto client = Predictor::Connect(Address());
  ASSERT_TRUE(client.ok()) << client.status();
  const float values[] = {20, std::nanf(""), 0.1f};
  Predictor::Answer answer;
  ASSERT_TRUE(Eventually(20, [&] {
    (void)(*client)->Receive(&answer, 1);
    return (*client)->Send("pump", values) == Sent::kTaken;
  }));
  ASSERT_TRUE((*client)->Receive(&answer, 20'000));
  EXPECT_EQ(answer.outcome, Outcome::kTaken);  // no value is there to stand in
  const Json fields = Stream()["fields"];
  ASSERT_EQ(fields.size(), 1u) << fields;
  EXPECT_EQ(fields["hum"]["missing"], 1) << fields;
}

TEST_F(SampleKills, WithoutAStreamTheFleetTriesUntilTheEndAndSaysWhy) {
  const Ran ran =
      RunMurmurate(place_.path(), {"actor", "sensors", "--connect", Address(), "--seconds", "0.3"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.errors, HasSubstr("0 messages were sent; no stream answers at " + Address()));
}

}  // namespace
}  // namespace murmurate
