// The daemon on a stream, as users have it: `murmurate serve` as a process of its own, a mosquitto
// of its own on loopback, and this program as the devices.
//
//   bench_stream latency [REPLAY]
//       one message, its forecast, and 5 ms of rest: how long the answer takes, beside the broker's
//       own round trip (publish to callback, no daemon)
//   bench_stream one RATE SECONDS [REPLAY]      one device, lstm 128, sequences of 20
//   bench_stream many RATE SECONDS [REPLAY]     1,000 devices, lstm 64, sequences of 20
//
//   bench_stream zmq-latency | zmq-one | zmq-many     the same without a broker (RATE 0: all that
//   is taken)
//
// One and many send RATE messages a second and say how many were forecast and learned from, and how
// long the forecasts took. REPLAY: sequences kept to be learned again.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bench/stream_samples.h"
#include "server/stream/mqtt_link.h"
#include "tests/server/process.h"
#include "tests/stream/broker.h"

namespace murmurate {
namespace {

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<long>(at), values.end());
  return values[at];
}

/// Publishes to sensors/N/data, and times what comes to `answers`.
class Devices {
 public:
  Devices(const Broker& broker, const std::string& answers, int devices)
      : sent_ns_(static_cast<std::size_t>(devices)),
        sender_(Open(broker, "", {})),
        hearer_(Open(broker, answers, [this](const MqttMessage& m) { OnMessage(m); })) {
    DriveUntil(
        5, [this] { return sender_->up() && hearer_->up(); },
        [this] {
          sender_->PollOnce(5);
          hearer_->PollOnce(5);
        });
  }

  void Send(int device, std::uint64_t number) {
    char payload[128];
    const double phase = 0.05 * static_cast<double>(number) + device;
    std::snprintf(payload, sizeof payload, "{\"temp\":%.4f,\"hum\":%.4f,\"vib\":%.4f,\"seq\":%llu}",
                  20 + 3 * std::sin(phase), 40 + 5 * std::cos(phase), 0.01 * (device % 7),
                  static_cast<unsigned long long>(number));
    sent_ns_[static_cast<std::size_t>(device)] = MonotonicNs();
    sender_->Publish("sensors/" + std::to_string(device) + "/data", payload, 0, false);
    sender_->PollOnce(0);
  }
  int Hear(int timeout_ms) { return hearer_->PollOnce(timeout_ms); }
  std::vector<double> took_us;

 private:
  static std::unique_ptr<MqttLink> Open(const Broker& broker, const std::string& filter,
                                        std::function<void(const MqttMessage&)> take) {
    MqttSettings settings;
    settings.broker = broker.address();
    if (!filter.empty()) settings.subscriptions = {{filter, 0}};
    MqttEvents events;
    events.on_message = take ? std::move(take) : [](const MqttMessage&) {};
    events.on_state = [](bool, const std::string&) {};
    return *MqttLink::Open(std::move(settings), std::move(events));
  }
  void OnMessage(const MqttMessage& message) {
    if (message.retained) return;
    const int device = std::atoi(std::string(message.topic.substr(8)).c_str());
    took_us.push_back(
        static_cast<double>(MonotonicNs() - sent_ns_[static_cast<std::size_t>(device)]) * 1e-3);
  }

  std::vector<std::int64_t> sent_ns_;
  std::unique_ptr<MqttLink> sender_, hearer_;
};

std::string ConfigOf(const Broker& broker, int units, int window, int replay) {
  return "[run]\nname = \"bench\"\n[stream.s]\nbroker = \"" + broker.address() +
         "\"\nsubscribe = \"sensors/{device}/data\"\nfields = [\"temp\", \"hum\", \"vib\"]\n"
         "target = \"temp\"\nsequence = \"/seq\"\nqos = 0\nretain = false\nmodel = "
         "\"lstm\"\nhidden = " +
         std::to_string(units) + "\nwindow = " + std::to_string(window) +
         "\nreplay = " + std::to_string(replay) + "\npublish = \"sensors/{device}/forecast\"\n";
}

nlohmann::json StatusOf(const Workplace& place) {
  const auto status = nlohmann::json::parse(RunMurmurate(place.path(), {"status", "--json"}).output,
                                            nullptr, false);
  return status.is_object() && !status["streams"].empty() ? status["streams"][0] : nlohmann::json();
}

void Ping(Devices* devices, int count, int first) {
  for (int i = 0; i < count; ++i) {
    const std::size_t before = devices->took_us.size();
    devices->Send(0, static_cast<std::uint64_t>(first + i));
    DriveUntil(
        2, [&] { return devices->took_us.size() > before; }, [&] { devices->Hear(20); });
    DriveUntil(
        0.005, [] { return false; }, [&] { devices->Hear(1); });
  }
}

void MeasureLatency(const Broker& broker, int replay) {
  Devices bare(broker, "sensors/+/data", 1);
  Ping(&bare, 1000, 1);
  const double trip = Percentile(bare.took_us, 0.5);
  std::printf("the broker's own round trip: p50 %.0f us, p99 %.0f us\n", trip,
              Percentile(bare.took_us, 0.99));
  for (const int window : {1, 20}) {
    const Workplace place;
    Process serve(
        place.path(),
        {"serve", place.Write("s.toml", ConfigOf(broker, 128, window, replay)), "--quiet"});
    if (!serve.Says("resh", 1))
      DriveUntil(
          1.5, [] { return false; }, [] { usleep(10'000); });
    Devices devices(broker, "sensors/+/forecast", 1);
    Ping(&devices, 200, 1);
    devices.took_us.clear();
    Ping(&devices, 1000, 1000);
    const double p50 = Percentile(devices.took_us, 0.5);
    std::printf(
        "lstm 128, sequence %2d, each message forecast and learned: p50 %.0f us, p99 %.0f us; over "
        "the broker's %.0f us, target 300: %s\n",
        window, p50, Percentile(devices.took_us, 0.99), p50 - trip,
        p50 - trip <= 300 ? "met" : "MISSED");
    std::printf("  %s\n", StatusOf(place).dump().c_str());
    serve.Send(SIGTERM);
    serve.Wait(10);
  }
}

void MeasureRate(const Broker& broker, int count, int units, double rate, double seconds,
                 int replay) {
  const Workplace place;
  Process serve(place.path(),
                {"serve", place.Write("s.toml", ConfigOf(broker, units, 20, replay)), "--quiet"});
  DriveUntil(
      1.5, [] { return false; }, [] { usleep(10'000); });
  Devices devices(broker, "sensors/+/forecast", count);
  const std::int64_t begin_ns = MonotonicNs();
  const auto all = static_cast<std::uint64_t>(rate * seconds);
  std::uint64_t sent = 0;
  while (sent < all) {
    const double elapsed = static_cast<double>(MonotonicNs() - begin_ns) * 1e-9;
    const auto due = std::min(all, static_cast<std::uint64_t>(elapsed * rate));
    for (int burst = 0; sent < due && burst < 64; ++sent, ++burst)
      devices.Send(static_cast<int>(sent % static_cast<std::uint64_t>(count)),
                   sent / static_cast<std::uint64_t>(count) + 1);
    devices.Hear(sent < due ? 0 : 1);
  }
  const double took_s = static_cast<double>(MonotonicNs() - begin_ns) * 1e-9;
  DriveUntil(
      3, [&] { return devices.took_us.size() >= all; }, [&] { devices.Hear(10); });
  DriveUntil(
      0.5, [] { return false; }, [&] { devices.Hear(10); });
  const auto status = StatusOf(place);
  std::printf(
      "%d devices, lstm %d, sequence 20: %.0f messages/s for %.1f s; %zu of %llu forecast, p50 "
      "%.2f "
      "ms, p99 %.2f ms; learned %s, unlearned %s\n",
      count, units, static_cast<double>(sent) / took_s, took_s, devices.took_us.size(),
      static_cast<unsigned long long>(all), Percentile(devices.took_us, 0.5) * 1e-3,
      Percentile(devices.took_us, 0.99) * 1e-3,
      status.value("learned", nlohmann::json()).dump().c_str(),
      status.value("unlearned", nlohmann::json()).dump().c_str());
  std::printf("  %s\n", status.dump().c_str());
  serve.Send(SIGTERM);
  serve.Wait(10);
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  using namespace murmurate;
  const std::string what = argc > 1 ? argv[1] : "latency";
  const bool one = what == "one" || what == "zmq-one";
  const double rate = argc > 2 ? std::atof(argv[2]) : one ? 2500 : 15000;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 10;
  const int replay = argc > 4 ? std::atoi(argv[4]) : 0;
  if (what == "zmq-latency") return MeasureSampleLatency(), 0;
  if (what == "zmq-one") return MeasureSampleRate(1, 128, rate, seconds), 0;
  if (what == "zmq-many") return MeasureSampleRate(1000, 64, rate, seconds), 0;
  if (!Broker::Installed()) {
    std::fprintf(stderr, "%s\n", Broker::kMissing);
    return 1;
  }
  Broker::Options options;
  options.lines = {"set_tcp_nodelay true", "max_queued_messages 100000"};
  Broker broker(options);
  if (!broker.Start()) return 1;
  if (what == "latency") MeasureLatency(broker, argc > 2 ? std::atoi(argv[2]) : 0);
  if (what == "one") MeasureRate(broker, 1, 128, rate, seconds, replay);
  if (what == "many") MeasureRate(broker, 1000, 64, rate, seconds, replay);
}
