#include "bench/stream_samples.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "murmurate/predictor.h"
#include "shared/core/clock.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<long>(at), values.end());
  return values[at];
}

double SinceUs(std::int64_t from_ns) { return static_cast<double>(MonotonicNs() - from_ns) * 1e-3; }

std::string AddressOf(const Workplace& place) { return "ipc://" + place.path() + "/s"; }

/// Frames of a header's and a sample's size, there and back through another process that does
/// nothing else. Must run before this process has a context of libzmq.
std::vector<double> EchoUs(const Workplace& place, int rounds) {
  const std::string address = "ipc://" + place.path() + "/echo";
  const pid_t child = fork();
  if (child == 0) {
    void* const context = zmq_ctx_new();
    void* const router = zmq_socket(context, ZMQ_ROUTER);
    if (zmq_bind(router, address.c_str()) != 0) _exit(1);
    for (;;) {
      zmq_msg_t part;
      zmq_msg_init(&part);
      if (zmq_msg_recv(&part, router, 0) < 0) _exit(0);
      zmq_msg_send(&part, router, zmq_msg_more(&part) != 0 ? ZMQ_SNDMORE : 0);
    }
  }
  void* const context = zmq_ctx_new();
  void* const dealer = zmq_socket(context, ZMQ_DEALER);
  const int reconnect_ms = 2;
  zmq_setsockopt(dealer, ZMQ_RECONNECT_IVL, &reconnect_ms, sizeof reconnect_ms);
  zmq_connect(dealer, address.c_str());
  std::array<char, 32> header{};
  std::array<char, 96> body{};
  std::vector<double> took_us;
  for (int i = 0; i < rounds + 200; ++i) {
    const std::int64_t sent_ns = MonotonicNs();
    zmq_send(dealer, header.data(), header.size(), ZMQ_SNDMORE);
    zmq_send(dealer, body.data(), body.size(), 0);
    zmq_recv(dealer, header.data(), header.size(), 0);
    zmq_recv(dealer, body.data(), body.size(), 0);
    if (i >= 200) took_us.push_back(SinceUs(sent_ns));
    usleep(5000);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const int none = 0;
  zmq_setsockopt(dealer, ZMQ_LINGER, &none, sizeof none);
  zmq_close(dealer);
  zmq_ctx_term(context);
  return took_us;
}

std::string ConfigOf(const Workplace& place, int units, int window) {
  return "[run]\nname = \"bench\"\n[server]\nlisten = [\"ipc\"]\n[stream.s]\nlisten = \"" +
         AddressOf(place) +
         "\"\nfields = [\"temp\", \"hum\", \"vib\"]\ntarget = \"temp\"\nmodel = "
         "\"lstm\"\nhidden = " +
         std::to_string(units) + "\nwindow = " + std::to_string(window) + "\n";
}

std::string StatusOf(const Workplace& place) {
  const auto status = nlohmann::json::parse(RunMurmurate(place.path(), {"status", "--json"}).output,
                                            nullptr, false);
  return status.is_object() && !status["streams"].empty() ? status["streams"][0].dump() : "-";
}

std::unique_ptr<Predictor> Meet(const Workplace& place) {
  auto predictor = *Predictor::Connect(AddressOf(place), {.name = "bench"});
  Predictor::Answer answer;
  while (predictor->State().phase != Predictor::Phase::kLive) predictor->Receive(&answer, 10);
  return predictor;
}

/// Devices and what their samples say.
class Senders {
 public:
  Senders(Predictor* predictor, int devices)
      : predictor_(predictor), sent_ns_(static_cast<std::size_t>(devices)) {
    for (int i = 0; i < devices; ++i) names_.push_back("d" + std::to_string(i));
  }

  bool Send(int device, std::uint64_t number) {
    const double phase = 0.05 * static_cast<double>(number) + device;
    const float values[] = {static_cast<float>(20 + 3 * std::sin(phase)),
                            static_cast<float>(40 + 5 * std::cos(phase)),
                            0.01f * static_cast<float>(device % 7)};
    Predictor::SampleOptions options;
    options.sequence = number;
    const std::int64_t now_ns = MonotonicNs();
    if (predictor_->Send(names_[static_cast<std::size_t>(device)], values, options) !=
        Predictor::Sent::kTaken)
      return false;
    sent_ns_[static_cast<std::size_t>(device)][number % kKept] = now_ns;
    return true;
  }
  bool Hear(int timeout_ms) {
    if (!predictor_->Receive(&answer_, timeout_ms)) return false;
    const auto device = static_cast<std::size_t>(std::atoi(answer_.device.c_str() + 1));
    if (answer_.outcome == Predictor::Outcome::kForecast)
      took_us.push_back(SinceUs(sent_ns_[device][*answer_.sequence % kKept]));
    return true;
  }
  std::vector<double> took_us;

 private:
  static constexpr std::size_t kKept = 512;  ///< more than the credit
  Predictor* const predictor_;
  std::vector<std::array<std::int64_t, kKept>> sent_ns_;
  std::vector<std::string> names_;
  Predictor::Answer answer_;
};

}  // namespace

void MeasureSampleLatency() {
  const Workplace echo_place;
  const std::vector<double> echo = EchoUs(echo_place, 1000);
  const double trip = Percentile(echo, 0.5);
  std::printf("a bare ROUTER's echo to a DEALER: p50 %.0f us, p99 %.0f us\n", trip,
              Percentile(echo, 0.99));
  for (const int window : {1, 20}) {
    const Workplace place;
    Process serve(place.path(),
                  {"serve", place.Write("s.toml", ConfigOf(place, 128, window)), "--quiet"});
    const auto predictor = Meet(place);
    Senders senders(predictor.get(), 1);
    for (std::uint64_t i = 1; i <= 1200; ++i) {
      if (i == 201) senders.took_us.clear();
      senders.Send(0, i);
      senders.Hear(2000);
      usleep(5000);
    }
    const double p50 = Percentile(senders.took_us, 0.5);
    std::printf(
        "lstm 128, sequence %2d, each sample forecast and learned: p50 %.0f us, p99 %.0f us; "
        "%.1f times the echo\n  %s\n",
        window, p50, Percentile(senders.took_us, 0.99), p50 / trip, StatusOf(place).c_str());
    serve.Send(SIGTERM);
    serve.Wait(10);
  }
}

void MeasureSampleRate(int devices, int units, double rate, double seconds) {
  const Workplace place;
  Process serve(place.path(),
                {"serve", place.Write("s.toml", ConfigOf(place, units, 20)), "--quiet"});
  const auto predictor = Meet(place);
  Senders senders(predictor.get(), devices);
  const std::int64_t begin_ns = MonotonicNs();
  std::uint64_t sent = 0;
  const auto count = static_cast<std::uint64_t>(devices);
  double elapsed_s = 0;
  for (bool more = true; more;) {
    elapsed_s = static_cast<double>(MonotonicNs() - begin_ns) * 1e-9;
    more = elapsed_s < seconds;
    const double due = rate > 0 ? rate * std::min(elapsed_s, seconds) : 1e18;
    int burst = 0;
    while (more && static_cast<double>(sent) < due && burst < 64 &&
           senders.Send(static_cast<int>(sent % count), sent / count + 1))
      ++sent, ++burst;
    for (int wait_ms = burst == 0 ? 1 : 0; senders.Hear(wait_ms);) wait_ms = 0;
  }
  while (predictor->in_flight() > 0 && senders.Hear(3000)) {
  }
  std::printf(
      "%d devices, lstm %d, sequence 20: %.0f samples/s for %.1f s; %zu of %llu forecast, p50 %.2f "
      "ms, p99 %.2f ms\n  %s\n",
      devices, units, static_cast<double>(sent) / elapsed_s, elapsed_s, senders.took_us.size(),
      static_cast<unsigned long long>(sent), Percentile(senders.took_us, 0.5) * 1e-3,
      Percentile(senders.took_us, 0.99) * 1e-3, StatusOf(place).c_str());
  serve.Send(SIGTERM);
  serve.Wait(10);
}

}  // namespace murmurate
