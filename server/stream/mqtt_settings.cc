#include "server/stream/mqtt_settings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <utility>

#include "server/stream/mqtt_connection.h"
#include "server/stream/mqtt_password.h"
#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxText = 65535;  // of MQTT's strings
constexpr std::size_t kMaxMessage = 256u << 20;

bool IsText(const std::string& text) {
  return text.size() <= kMaxText && text.find('\0') == text.npos;
}

Status CheckQos(const std::string& whose, int qos) {
  if (qos >= 0 && qos <= 2) return {};
  return InvalidArgument("the qos of " + whose + " is " + std::to_string(qos) +
                         "; write 0 (at most once), 1 (at least once) or 2 (once)");
}

Status CheckReadable(const std::string& what, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return InvalidArgument(what + " '" + path + "' cannot be read (" + strerror(errno) +
                           "); correct the path");
  }
  close(fd);
  return {};
}

Status CheckTls(const MqttSettings& settings, const MqttAddress& address) {
  const char* key = nullptr;
  MURMURATE_RETURN_IF_ERROR(CheckTlsFiles(settings, address, &key));
  if (!settings.ca_file.empty()) {
    MURMURATE_RETURN_IF_ERROR(CheckReadable("the authority's file", settings.ca_file));
  }
  if (settings.certificate_file.empty()) return {};
  MURMURATE_RETURN_IF_ERROR(CheckReadable("the certificate's file", settings.certificate_file));
  return CheckSecretFile("the key's file", settings.key_file);
}

Status CheckIdentity(const MqttSettings& settings) {
  if (!settings.password.empty() && settings.user.empty()) {
    return InvalidArgument("there is a password for the broker, but no user; set both");
  }
  if (!IsText(settings.user) || !IsText(settings.password) || !IsText(settings.client_id)) {
    return InvalidArgument(
        "the broker's user, password or client id holds a zero byte or more than 65,535 bytes; "
        "shorten it");
  }
  return {};
}

Status CheckExposure(const MqttSettings& settings, const MqttAddress& address) {
  if (settings.insecure) return {};
  const bool known = !settings.user.empty() || !settings.certificate_file.empty();
  if (address.secure && known) return {};
  const std::string host =
      address.host.find(':') == address.host.npos ? address.host : '[' + address.host + ']';
  if (IsLocalAddress("tcp://" + host + ':' + std::to_string(address.port))) return {};
  return InvalidArgument("broker '" + settings.broker + "' is not on this machine, and " +
                         (address.secure ? "there is neither a user nor a client's certificate"
                                         : "without TLS any host on the way can read and change "
                                           "the messages") +
                         "; use mqtts:// with a user or a certificate, or accept that with "
                         "[server] insecure = true (--insecure)");
}

Status CheckTopics(const MqttSettings& settings) {
  for (const MqttSubscription& wanted : settings.subscriptions) {
    if (!IsTopicFilter(wanted.filter)) {
      return InvalidArgument("'" + wanted.filter +
                             "' is no filter of MQTT topics; + stands for one whole level and # "
                             "for all that follow, e.g. sensors/+/data");
    }
    MURMURATE_RETURN_IF_ERROR(CheckQos("'" + wanted.filter + "'", wanted.qos));
  }
  if (!settings.will.has_value()) return {};
  if (!IsTopic(settings.will->topic) || settings.will->payload.size() > kMaxText) {
    return InvalidArgument("the will's topic '" + settings.will->topic +
                           "' is no MQTT topic, or its payload has more than 65,535 bytes; write "
                           "a topic without + and #, e.g. sensors/forecaster");
  }
  return CheckQos("the will", settings.will->qos);
}

}  // namespace

Status CheckTlsFiles(const MqttSettings& settings, const MqttAddress& address, const char** key) {
  const std::pair<const char*, const std::string*> files[] = {
      {"ca_file", &settings.ca_file},
      {"certificate_file", &settings.certificate_file},
      {"key_file", &settings.key_file}};
  for (const auto& [name, path] : files) {
    *key = name;
    if (!path->empty() && !address.secure)
      return InvalidArgument("the file '" + *path +
                             "' is for TLS, and the broker is spoken to without TLS; write broker "
                             "= \"mqtts://" +
                             address.host + "\", or take the file out");
  }
  *key = settings.key_file.empty() ? "certificate_file" : "key_file";
  if (settings.certificate_file.empty() == settings.key_file.empty()) return {};
  return InvalidArgument(
      "a certificate and its key go together; set both certificate_file and key_file, or neither");
}

Status CheckMqttSettings(const MqttSettings& settings) {
  const Result<MqttAddress> address = ParseMqttAddress(settings.broker);
  if (!address.ok()) return address.status();
  MURMURATE_RETURN_IF_ERROR(CheckIdentity(settings));
  MURMURATE_RETURN_IF_ERROR(CheckTls(settings, *address));
  MURMURATE_RETURN_IF_ERROR(CheckTopics(settings));
  if (settings.maximum_message_bytes < 64 || settings.maximum_message_bytes > kMaxMessage) {
    return InvalidArgument("the largest message has " +
                           std::to_string(settings.maximum_message_bytes) +
                           " bytes; write from 64 to 268435456");
  }
  if (settings.maximum_in_flight < 1 || settings.maximum_in_flight > 65535) {
    return InvalidArgument(std::to_string(settings.maximum_in_flight) +
                           " messages in flight; write from 1 to 65535");
  }
  if (settings.keepalive_s < 5 || settings.keepalive_s > 65535) {
    return InvalidArgument("a keepalive of " + std::to_string(settings.keepalive_s) +
                           " s; write from 5 to 65535");
  }
  return CheckExposure(settings, *address);
}

}  // namespace murmurate
