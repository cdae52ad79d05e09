// MqttLink: the connection to a broker that others run. It connects, subscribes, hands over what
// comes, publishes, and after a loss does so again, for ever: a broker that is absent, killed,
// restarted or slow is a sentence and a number, never an end.
//
//                    Open                 accepted, subscribed
//      down since ----------> connecting ----------------------> up
//          ^   ^                  | failed, or 10 s               | lost
//          |   +------------------+                               |
//          +----- waits as ReconnectDelay says (at once first) ---+
//
// One thread calls everything but Wake, the counters and down_since_ns. It waits only in PollOnce,
// and for the DNS when a connection is begun: with an address instead of a name, never.
//
// Lost are messages that the broker had for us while we were away (the session is a clean one;
// senders number their messages), and what waited here when the connection broke (counted as
// dropped: a forecast that comes late is worth nothing). libmosquitto acknowledges a message before
// it hands it over, so qos 1 is no promise that it was used.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "server/stream/mqtt_address.h"
#include "server/stream/mqtt_connection.h"
#include "server/stream/mqtt_settings.h"
#include "server/stream/reconnect_delay.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"

namespace murmurate {

/// Called within PollOnce. Both may call Publish; neither may destroy the link.
struct MqttEvents {
  std::function<void(const MqttMessage&)> on_message;
  /// True: connected and subscribed. False: lost, or a first attempt failed, or a later one for
  /// another reason. `sentence` says why, for the log, and never holds the password.
  std::function<void(bool up, const std::string& sentence)> on_state;
};

/// Written by the link's thread, read by any.
struct MqttCounters {
  using Count = std::atomic<std::uint64_t>;
  Count connects{0};                       ///< how often it came up
  Count losses{0};                         ///< how often it then went down
  Count failed_attempts{0};                ///< to come up
  Count received{0}, received_bytes{0};    ///< handed over; topics and payloads
  Count oversized{0};                      ///< came and were not handed over
  Count published{0}, published_bytes{0};  ///< accepted
  Count refused_full{0};  ///< as many waited as may: the broker is slower than we are
  Count refused_down{0};
  Count refused{0};  ///< too large, no topic, or more than the broker allows
  Count dropped{0};  ///< accepted, then neither written nor acknowledged before a loss
};

/// Only tests give another clock, which must not run backwards, and a seed of the waits.
struct MqttTime {
  std::function<std::int64_t()> now_ns = MonotonicNs;
  std::uint64_t seed = 0;  ///< 0: another one each time
};

class MqttLink {
 public:
  /// Checks the settings (CheckMqttSettings) and connects to nothing yet.
  static Result<std::unique_ptr<MqttLink>> Open(MqttSettings settings, MqttEvents events,
                                                MqttTime time = {});
  /// Says goodbye: the broker does not publish the will. Never waits; what the socket does not take
  /// at once is lost.
  ~MqttLink();
  MqttLink(const MqttLink&) = delete;
  MqttLink& operator=(const MqttLink&) = delete;

  /// Writes what was published, waits at most `timeout_ms` (and at most a second) for a packet, for
  /// Wake, or for the moment to connect again, and hands over at most 256 messages. How many those
  /// were. What is handed over without a wait is followed by none: the other fd may have lost its
  /// signal to what was done with it.
  int PollOnce(int timeout_ms);
  /// PollOnce returns as soon as `fd` is readable, too, which it does not read.
  void AlsoWaitFor(int fd) { other_fd_ = fd; }
  /// Makes PollOnce return at once; any thread.
  void Wake() const { wake_.Set(); }

  /// Written by the next PollOnce, or by this one when called from within. No waiting place that is
  /// free, no connection: counted, and the message is gone.
  PublishOutcome Publish(const std::string& topic, std::string_view payload, int qos = 0,
                         bool retained = false);

  bool up() const { return down_since_ns() == kUp; }
  static constexpr std::int64_t kUp = -1;
  /// The time of the loss on the link's clock, or kUp. A link begins down.
  std::int64_t down_since_ns() const { return down_since_ns_.load(std::memory_order_relaxed); }
  const MqttCounters& counters() const { return counters_; }
  /// Published, and neither written (qos 0) nor acknowledged yet.
  int in_flight() const { return connection_ == nullptr ? 0 : connection_->in_flight(); }
  const std::string& client_id() const { return client_id_; }
  const MqttAddress& address() const { return address_; }

 private:
  MqttLink(MqttSettings settings, MqttAddress address, MqttEvents events, MqttTime time);
  void Attempt();
  int WaitMs(int timeout_ms) const;
  void OnMessage(const MqttMessage& message);
  void AfterTurn(const Status& status);
  void ComeUp();
  void Lose(const std::string& sentence);

  const MqttSettings settings_;
  const MqttAddress address_;
  const MqttEvents events_;
  const std::function<std::int64_t()> now_ns_;
  const MqttConnection::OnMessage take_;
  std::string client_id_;
  WakeSignal wake_;
  ReconnectDelay delay_;
  std::int64_t attempt_at_ns_, give_up_at_ns_ = 0, up_since_ns_ = 0;
  std::atomic<std::int64_t> down_since_ns_;
  std::string trouble_;  ///< said last
  MqttCounters counters_;
  int handed_over_ = 0;                         ///< in this PollOnce
  int other_fd_ = -1;                           ///< -1: none
  std::unique_ptr<MqttConnection> connection_;  ///< none: waiting for attempt_at_ns_
};

}  // namespace murmurate
