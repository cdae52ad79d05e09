// MqttSettings: which broker, who we are to it, and what we want of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/stream/mqtt_address.h"
#include "shared/core/enum_names.h"

namespace murmurate {

enum class MqttProtocol : std::uint8_t {
  k311,  ///< MQTT 3.1.1
  k5,    ///< MQTT 5: the broker keeps back what is larger than maximum_message_bytes
};

inline constexpr EnumName<MqttProtocol> kMqttProtocolNames[] = {{MqttProtocol::k311, "3.1.1"},
                                                                {MqttProtocol::k5, "5"}};
constexpr std::span<const EnumName<MqttProtocol>> NamesOf(MqttProtocol) {
  return kMqttProtocolNames;
}

struct MqttSubscription {
  std::string filter;  ///< a topic, with + for a level and # for all the rest
  int qos = 1;         ///< 0 at most once, 1 at least once, 2 once
};

/// MqttWill is what the broker publishes in our name when we are gone without a goodbye.
struct MqttWill {
  std::string topic, payload;
  int qos = 0;
  bool retained = false;
};

struct MqttSettings {
  std::string broker;  ///< mqtt://HOST[:PORT] or mqtts://HOST[:PORT] (mqtt_address.h)
  MqttProtocol protocol = MqttProtocol::k5;
  std::string client_id;  ///< empty: murmurate- and 12 random digits
  std::string user, password;
  /// mqtts only. Without ca_file the broker's certificate must be signed by one of the system's
  /// authorities; its name must be the address's host in any case. Certificate and key are ours,
  /// for brokers that ask for one.
  std::string ca_file, certificate_file, key_file;
  std::vector<MqttSubscription> subscriptions;
  std::optional<MqttWill> will;
  /// Topic and payload together. Larger ones are neither handed over nor published.
  std::size_t maximum_message_bytes = 256 * 1024;
  /// Messages that wait to be written or acknowledged; more are refused, 1 to 65,535.
  int maximum_in_flight = 4096;
  /// A broker that is silent for one and a half times as long is given up, 5 to 65,535.
  int keepalive_s = 30;
  /// A broker on another machine is refused without TLS, and without a user or certificate: the
  /// network could read and write whatever the stream learns from.
  bool insecure = false;
};

/// Checks that the TLS files fit the address and each other; none is opened. kInvalidArgument:
/// `*key` is the setting to take out or change.
Status CheckTlsFiles(const MqttSettings& settings, const MqttAddress& address, const char** key);

/// kInvalidArgument, one sentence with the remedy, for what cannot work; it never holds the
/// password. Looks the host up when it must know whether it is this machine.
Status CheckMqttSettings(const MqttSettings& settings);

}  // namespace murmurate
