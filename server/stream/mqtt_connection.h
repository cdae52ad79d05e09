// MqttConnection: one connection to a broker, from its first packet to its loss. The only user of
// libmosquitto (2.0), which it drives without a thread: its owner polls fd() for events() and
// calls Turn. MqttLink makes a new one after each loss, so nothing of an old connection lingers in
// the library, and renewed certificates are read.
//
// Start looks the host's name up, which may take as long as the DNS does; nothing else waits. When
// a name has several addresses, it takes the first that does not fail at once.
//
// libmosquitto ignores SIGPIPE in the whole process. It reads each packet whole, whatever its size,
// before our code sees it: only by MQTT 5 does the broker keep back what is too large.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "server/stream/mqtt_address.h"
#include "server/stream/mqtt_settings.h"

struct mosquitto;
struct mosquitto_message;

namespace murmurate {

/// A message that a broker hands over, valid during the call.
struct MqttMessage {
  std::string_view topic, payload;
  int qos = 0;
  bool retained = false;  ///< not news: the broker kept it for those who come later
};

enum class PublishOutcome : std::uint8_t {
  kAccepted,
  kFull,     ///< as many messages wait as may
  kDown,     ///< there is no connection
  kRefused,  ///< too large, no topic, or more than the broker allows
};

/// Whether MQTT allows to subscribe to `text`, and to publish under it.
bool IsTopicFilter(std::string_view text);
bool IsTopic(std::string_view text);

class MqttConnection {
 public:
  /// Called within Turn. It may call Publish, and nothing else here.
  using OnMessage = std::function<void(const MqttMessage&)>;

  /// `settings` have been checked. kUnavailable when it failed at once. What `settings` and
  /// `on_message` refer to outlives the connection.
  static Result<std::unique_ptr<MqttConnection>> Start(const MqttSettings& settings,
                                                       const MqttAddress& address,
                                                       const std::string& client_id,
                                                       const OnMessage& on_message);
  /// Closes without a goodbye: the broker publishes the will.
  ~MqttConnection();
  MqttConnection(const MqttConnection&) = delete;
  MqttConnection& operator=(const MqttConnection&) = delete;

  int fd() const;
  short events() const;  ///< of poll(2)
  /// Reads at most 256 packets, writes what waits. `revents` is what poll said; 0 to write only. A
  /// Status that is not ok says in a sentence why the connection is lost; it is good for nothing
  /// then.
  Status Turn(short revents);
  /// The broker has accepted us and every subscription.
  bool ready() const { return accepted_ && unanswered_.empty(); }

  /// Queues the message; the next Turn writes it.
  PublishOutcome Publish(const std::string& topic, std::string_view payload, int qos,
                         bool retained);
  /// How many of the accepted messages are neither written (qos 0) nor acknowledged.
  int in_flight() const { return in_flight_; }
  /// Writes what the socket takes at once, then the goodbye: the broker forgets the will.
  void SayGoodbye();

 private:
  struct Close {
    void operator()(mosquitto* library) const;
  };

  MqttConnection(const MqttSettings& settings, const MqttAddress& address,
                 const OnMessage& on_message);
  Status SetUp(const std::string& client_id);
  int SetTls();
  void AnnounceMaximum();
  void SetCallbacks();
  void OnAnswer(int code);
  void OnSubscribed(int id, int granted);
  void Hand(const mosquitto_message& message);
  void Note(int level, const char* line);
  Status AwaitGreeting();
  Status Read();
  Status Write();
  Status Lost(int code, int error) const;
  std::string Why(int code, int error) const;
  Status Say(const std::string& what) const;

  const MqttSettings& settings_;
  const MqttAddress& address_;
  const OnMessage& on_message_;
  std::unique_ptr<mosquitto, Close> library_;
  std::map<int, std::string> unanswered_;  ///< subscriptions: packet id, filter
  std::string refusal_;                    ///< the broker's, said before it closes
  std::string tls_trouble_;
  int in_flight_ = 0;
  bool reached_ = false;   ///< TCP is connected
  bool greeted_;           ///< what comes begins as a broker's answer does (connack.h)
  bool accepted_ = false;  ///< the broker has answered
};

}  // namespace murmurate
