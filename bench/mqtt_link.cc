// One MqttLink and a mosquitto of its own on loopback: how long from a publish to the callback, how
// many messages a second the link takes and gives, and what one costs its thread. The limit is the
// broker itself: two bare sockets that write and read the same bytes.
#include "server/stream/mqtt_link.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/measure/limits.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "tests/stream/broker.h"

namespace murmurate {
namespace {

constexpr int kDevices = 1000;
constexpr char kPayload[] =
    "{\"temp\": 21.53125, \"hum\": 40.25, \"vib\": 0.0078125, \"seq\": 123456}";

double ThreadCpuNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

std::string TopicOf(int device) { return "sensors/device-" + std::to_string(device) + "/data"; }

/// MQTT 3.1.1 by hand, qos 0: the shortest way to the broker and back.
std::string Packet(char command, const std::string& body) {
  return std::string{command, static_cast<char>(body.size())} + body;  // below 128 bytes
}
std::string Text(const std::string& text) {
  return std::string{'\0', static_cast<char>(text.size())} + text;
}
std::string PublishPacket(int device) { return Packet('\x30', Text(TopicOf(device)) + kPayload); }

class BareClient {
 public:
  BareClient(int port, const std::string& id) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    MURMURATE_CHECK(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0,
                    "no connection to the broker");
    const int at_once = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    Write(Packet('\x10', Text("MQTT") + std::string("\x04\x02\x00\x00", 4) + Text(id)));
    Read(4);
  }
  ~BareClient() { close(fd_); }
  void Subscribe(const std::string& filter) {
    Write(Packet('\x82', std::string("\x00\x01", 2) + Text(filter) + std::string("\x00", 1)));
    Read(5);
  }
  bool Write(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void Read(std::size_t bytes) {
    char buffer[4096];
    const ssize_t got = recv(fd_, buffer, bytes, MSG_WAITALL);
    MURMURATE_CHECK(got == static_cast<ssize_t>(bytes), "the broker hung up");
    const int at_once = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_QUICKACK, &at_once, sizeof at_once);
  }
  void HangUp() { shutdown(fd_, SHUT_RDWR); }

 private:
  int fd_;
};

struct Reader {
  explicit Reader(const Broker& broker, const std::string& filter) {
    MqttSettings settings;
    settings.broker = broker.address();
    if (!filter.empty()) settings.subscriptions = {{filter, 0}};
    MqttEvents events;
    events.on_message = [this](const MqttMessage& message) {
      ++messages;
      if (const std::size_t at = message.payload.find("time_ns"); at != message.payload.npos) {
        const std::int64_t sent = std::atoll(message.payload.data() + at + 10);
        latency_us.push_back(static_cast<double>(MonotonicNs() - sent) / 1e3);
      }
      if (answer) (void)link->Publish("forecast", message.payload);
    };
    link = *MqttLink::Open(settings, std::move(events));
    while (!link->up()) link->PollOnce(10);
  }
  std::uint64_t messages = 0;
  std::vector<double> latency_us;
  bool answer = false;
  std::unique_ptr<MqttLink> link;
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// One message at a time, `pause_us` after the last.
void MeasureRoundTrip(int rounds, int pause_us) {
  Broker broker;
  if (!broker.Start()) return;
  Reader reader(broker, "sensors/+/data"), writer(broker, "");
  BareClient from(broker.port(), "bare-writer"), to(broker.port(), "bare-reader");
  to.Subscribe("sensors/+/data");
  BareClient* const bare = &to;
  const std::string packet = PublishPacket(7);
  std::vector<double> ours, limit;
  for (int i = 0; i < rounds; ++i) {
    usleep(static_cast<useconds_t>(pause_us));
    const std::uint64_t before = reader.messages;
    std::int64_t start = MonotonicNs();
    (void)writer.link->Publish(TopicOf(7), kPayload);
    writer.link->PollOnce(0);
    while (reader.messages == before) reader.link->PollOnce(100);
    ours.push_back(static_cast<double>(MonotonicNs() - start) / 1e3);
    bare->Read(packet.size());
    usleep(static_cast<useconds_t>(pause_us));
    start = MonotonicNs();
    (void)from.Write(packet);
    bare->Read(packet.size());
    limit.push_back(static_cast<double>(MonotonicNs() - start) / 1e3);
    while (reader.messages == before + 1) reader.link->PollOnce(100);
  }
  BenchRow row;
  row.name = "publish to callback p50, pause " + std::to_string(pause_us) + " us";
  row.unit = "us";
  row.ours = Median(ours);
  row.limit = Median(limit);
  row.smaller_is_better = true;
  Print(row);
  std::sort(ours.begin(), ours.end());
  std::sort(limit.begin(), limit.end());
  std::printf("  p99 %.0f us, bare %.0f us\n", ours[ours.size() * 99 / 100],
              limit[limit.size() * 99 / 100]);
}

/// A bare writer that goes as fast as the broker takes; with `answer`, one publish a message.
void MeasureRate(double seconds, bool answer) {
  Broker broker;
  if (!broker.Start()) return;
  Reader reader(broker, "sensors/+/data");
  reader.answer = answer;
  BareClient from(broker.port(), "flood");
  std::atomic<bool> stop{false};
  std::thread flood([&] {
    std::vector<std::string> bundles;
    for (int device = 0; device < kDevices; device += 20) {
      std::string bundle;
      for (int i = 0; i < 20; ++i) bundle += PublishPacket(device + i);
      bundles.push_back(bundle);
    }
    for (std::size_t i = 0; !stop && from.Write(bundles[i % bundles.size()]); ++i) {
    }
  });
  const std::int64_t start = MonotonicNs();
  const double cpu = ThreadCpuNs();
  std::uint64_t polls = 0;
  while (MonotonicNs() - start < static_cast<std::int64_t>(seconds * 1e9)) {
    reader.link->PollOnce(100);
    ++polls;
  }
  const double wall_s = static_cast<double>(MonotonicNs() - start) / 1e9;
  const double cpu_us = (ThreadCpuNs() - cpu) / 1e3;
  stop = true;
  from.HangUp();
  flood.join();
  const double messages = static_cast<double>(reader.messages);
  std::printf(
      "%s: %.0f messages/s; %.2f us of the link's thread each (%.0f/s at a full core), "
      "%.1f a poll; refused as full %llu, dropped %llu\n",
      answer ? "receive and answer" : "receive", messages / wall_s, cpu_us / messages,
      messages / cpu_us * 1e6, messages / static_cast<double>(polls),
      static_cast<unsigned long long>(reader.link->counters().refused_full),
      static_cast<unsigned long long>(reader.link->counters().dropped));
}

/// What 1,000 devices send, `rate` messages a second in all, `burst` at one moment; with `answer`,
/// one publish a message. From the sender's write to the callback.
void MeasureSteady(double seconds, int rate, int burst, bool answer) {
  Broker broker;
  if (!broker.Start()) return;
  Reader reader(broker, "sensors/+/data");
  reader.answer = answer;
  BareClient from(broker.port(), "fleet");
  std::atomic<bool> stop{false};
  std::thread fleet([&] {
    const std::int64_t start = MonotonicNs();
    for (std::int64_t sent = 0; !stop; sent += burst) {
      const std::int64_t due = start + sent * kNanosecondsPerSecond / rate;
      while (MonotonicNs() < due) usleep(100);
      std::string bundle;
      for (int i = 0; i < burst; ++i) {
        char payload[80];
        std::snprintf(payload, sizeof payload, "{\"temp\": 21.53125, \"time_ns\": %lld}",
                      static_cast<long long>(MonotonicNs()));
        const int device = static_cast<int>((sent + i) % kDevices);
        bundle += Packet('\x30', Text(TopicOf(device)) + payload);
      }
      if (!from.Write(bundle)) return;
    }
  });
  const std::int64_t start = MonotonicNs();
  const double cpu = ThreadCpuNs();
  while (MonotonicNs() - start < static_cast<std::int64_t>(seconds * 1e9)) {
    reader.link->PollOnce(100);
  }
  const double wall_s = static_cast<double>(MonotonicNs() - start) / 1e9;
  const double cpu_s = (ThreadCpuNs() - cpu) / 1e9;
  stop = true;
  fleet.join();
  std::sort(reader.latency_us.begin(), reader.latency_us.end());
  const std::size_t count = reader.latency_us.size();
  std::printf(
      "%d/s in bursts of %d, %s: %.0f messages/s, %.0f %% of a core; sender to callback p50 "
      "%.0f us, p99 %.0f us; refused as full %llu\n",
      rate, burst, answer ? "each answered" : "not answered",
      static_cast<double>(reader.messages) / wall_s, 100 * cpu_s / wall_s,
      reader.latency_us[count / 2], reader.latency_us[count * 99 / 100],
      static_cast<unsigned long long>(reader.link->counters().refused_full));
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  using namespace murmurate;
  if (!Broker::Installed()) {
    std::fprintf(stderr, "%s\n", Broker::kMissing);
    return 5;
  }
  const std::string only = argc > 1 ? argv[1] : "";
  if (only.empty() || only == "latency") {
    MeasureRoundTrip(1000, 0);
    MeasureRoundTrip(500, 2000);
  }
  if (only.empty() || only == "receive") MeasureRate(3, false);
  if (only.empty() || only == "answer") MeasureRate(3, true);
  if (only.empty() || only == "steady") {
    for (const bool answer : {false, true}) {
      MeasureSteady(2, 100, 1, answer);
      MeasureSteady(3, 1000, 10, answer);
      MeasureSteady(3, 15'000, 15, answer);
    }
  }
  return 0;
}
