// Probe: a MqttLink and what it said, driven on the test's own thread. Its clock can be set ahead,
// so that no test waits for a reconnection.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/stream/mqtt_link.h"
#include "shared/core/clock.h"
#include "tests/stream/broker.h"

namespace murmurate {

inline constexpr double kPatience = 20;  // seconds, for what takes milliseconds

class Probe {
 public:
  struct Got {
    std::string topic, payload;
    int qos;
    bool retained;
    bool operator==(const Got&) const = default;
  };

  explicit Probe(MqttSettings settings) {
    MqttEvents events;
    events.on_message = [this](const MqttMessage& message) {
      got.push_back({std::string(message.topic), std::string(message.payload), message.qos,
                     message.retained});
      if (on_message) on_message(message);
    };
    events.on_state = [this](bool up, const std::string& sentence) {
      states.emplace_back(up, sentence);
    };
    MqttTime time;
    time.now_ns = [this] { return MonotonicNs() + ahead_ns; };
    time.seed = 1;
    auto opened = MqttLink::Open(std::move(settings), std::move(events), std::move(time));
    EXPECT_TRUE(opened.ok()) << opened.status();
    if (opened.ok()) link = *std::move(opened);
  }

  bool Until(const std::function<bool()>& condition) {
    return DriveUntil(kPatience, condition, [this] { link->PollOnce(2); });
  }
  bool UntilUp() {
    return Until([this] { return link->up(); });
  }
  bool UntilDown() {
    return Until([this] { return !link->up(); });
  }
  bool UntilGot(std::size_t messages) {
    return Until([=, this] { return got.size() >= messages; });
  }
  void Ahead(std::int64_t seconds) { ahead_ns += seconds * kNanosecondsPerSecond; }
  std::string Trouble() const { return states.empty() ? "" : states.back().second; }

  std::int64_t ahead_ns = 0;
  std::vector<Got> got;
  std::vector<std::pair<bool, std::string>> states;
  std::function<void(const MqttMessage&)> on_message;
  std::unique_ptr<MqttLink> link;
};

inline MqttSettings SettingsFor(const std::string& address, const std::string& filter = "",
                                int qos = 1) {
  MqttSettings settings;
  settings.broker = address;
  if (!filter.empty()) settings.subscriptions = {{filter, qos}};
  return settings;
}

}  // namespace murmurate
