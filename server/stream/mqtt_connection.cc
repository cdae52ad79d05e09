#include "server/stream/mqtt_connection.h"

#include <errno.h>
#include <fcntl.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <algorithm>

#include "server/stream/connack.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kPacketsPerTurn = 256;
constexpr int kFailed = 0x80;  // and above: reason codes that are errors

MqttConnection* Self(void* object) { return static_cast<MqttConnection*>(object); }

/// Called once a process, and never undone: libmosquitto counts its users without a lock.
void StartLibrary() {
  static const int kCode = mosquitto_lib_init();
  MURMURATE_CHECK(kCode == MOSQ_ERR_SUCCESS, "libmosquitto does not start");
}

const char* OrNull(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

/// A learner has no terminal at which the passphrase of a key could be typed.
int NoPassphrase(char*, int, int, void*) { return 0; }

int ErrorOf(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

}  // namespace

bool IsTopicFilter(std::string_view text) {
  return mosquitto_sub_topic_check2(text.data(), text.size()) == MOSQ_ERR_SUCCESS &&
         !text.empty() &&
         mosquitto_validate_utf8(text.data(), static_cast<int>(text.size())) == MOSQ_ERR_SUCCESS;
}

bool IsTopic(std::string_view text) {
  return mosquitto_pub_topic_check2(text.data(), text.size()) == MOSQ_ERR_SUCCESS &&
         !text.empty() &&
         mosquitto_validate_utf8(text.data(), static_cast<int>(text.size())) == MOSQ_ERR_SUCCESS;
}

void MqttConnection::Close::operator()(mosquitto* library) const { mosquitto_destroy(library); }

MqttConnection::MqttConnection(const MqttSettings& settings, const MqttAddress& address,
                               const OnMessage& on_message)
    : settings_(settings),
      address_(address),
      on_message_(on_message),
      greeted_(address.secure || settings.protocol == MqttProtocol::k311) {}

MqttConnection::~MqttConnection() = default;

Result<std::unique_ptr<MqttConnection>> MqttConnection::Start(const MqttSettings& settings,
                                                              const MqttAddress& address,
                                                              const std::string& client_id,
                                                              const OnMessage& on_message) {
  StartLibrary();
  std::unique_ptr<MqttConnection> connection(new MqttConnection(settings, address, on_message));
  MURMURATE_RETURN_IF_ERROR(connection->SetUp(client_id));
  errno = 0;
  const int code = mosquitto_connect_bind_async(connection->library_.get(), address.host.c_str(),
                                                address.port, settings.keepalive_s, nullptr);
  if (code != MOSQ_ERR_SUCCESS || connection->fd() < 0) return connection->Lost(code, errno);
  fcntl(connection->fd(), F_SETFD, FD_CLOEXEC);  // a child would keep our will from being published
  return connection;
}

Status MqttConnection::SetUp(const std::string& client_id) {
  library_.reset(mosquitto_new(client_id.c_str(), true, this));
  mosquitto* library = library_.get();
  if (library == nullptr) return Say(std::string("no connection can be made: ") + strerror(errno));
  const bool five = settings_.protocol == MqttProtocol::k5;
  int code = mosquitto_int_option(library, MOSQ_OPT_PROTOCOL_VERSION,
                                  five ? MQTT_PROTOCOL_V5 : MQTT_PROTOCOL_V311);
  if (code == 0) code = mosquitto_int_option(library, MOSQ_OPT_TCP_NODELAY, 1);
  if (code == 0) code = mosquitto_threaded_set(library, true);  // Publish queues, Turn writes
  if (code == 0 && !settings_.user.empty()) {
    code = mosquitto_username_pw_set(library, settings_.user.c_str(), OrNull(settings_.password));
  }
  SetCallbacks();
  if (code == 0 && address_.secure) code = SetTls();
  if (code == 0 && settings_.will.has_value()) {
    const MqttWill& will = *settings_.will;
    code = mosquitto_will_set(library, will.topic.c_str(), static_cast<int>(will.payload.size()),
                              will.payload.data(), will.qos, will.retained);
  }
  if (code != 0) return Lost(code, errno);
  if (five) AnnounceMaximum();
  return {};
}

int MqttConnection::SetTls() {
  const char* system = settings_.ca_file.empty() ? "/etc/ssl/certs" : nullptr;
  return mosquitto_tls_set(library_.get(), OrNull(settings_.ca_file), system,
                           OrNull(settings_.certificate_file), OrNull(settings_.key_file),
                           NoPassphrase);
}

/// libmosquitto takes a CONNECT's properties only in the call that blocks. It keeps them for the
/// other one, and fails at once for a host without a name.
void MqttConnection::AnnounceMaximum() {
  mosquitto_property* properties = nullptr;
  mosquitto_property_add_int32(&properties, MQTT_PROP_MAXIMUM_PACKET_SIZE,
                               static_cast<std::uint32_t>(settings_.maximum_message_bytes));
  const int code =
      mosquitto_connect_bind_v5(library_.get(), "", 0, settings_.keepalive_s, nullptr, properties);
  mosquitto_property_free_all(&properties);
  MURMURATE_CHECK(code == MOSQ_ERR_INVAL, "libmosquitto connects to a host without a name");
}

void MqttConnection::SetCallbacks() {
  mosquitto* library = library_.get();
  mosquitto_log_callback_set(library, [](mosquitto*, void* object, int level, const char* line) {
    Self(object)->Note(level, line);
  });
  mosquitto_connect_callback_set(
      library, [](mosquitto*, void* object, int code) { Self(object)->OnAnswer(code); });
  mosquitto_subscribe_callback_set(
      library, [](mosquitto*, void* object, int id, int count, const int* granted) {
        Self(object)->OnSubscribed(id, count > 0 ? granted[0] : kFailed);
      });
  mosquitto_publish_callback_set(library,
                                 [](mosquitto*, void* object, int) { --Self(object)->in_flight_; });
  mosquitto_message_callback_set(library,
                                 [](mosquitto*, void* object, const mosquitto_message* message) {
                                   Self(object)->Hand(*message);
                                   errno = 0;  // Read looks at it
                                 });
  mosquitto_disconnect_callback_set(library, [](mosquitto*, void* object, int code) {
    MqttConnection* self = Self(object);
    if (code < kFailed || !self->refusal_.empty()) return;
    self->refusal_ = std::string("it ended the connection: ") + mosquitto_reason_string(code);
  });
}

void MqttConnection::Note(int level, const char* line) {
  if (level != MOSQ_LOG_ERR) return;
  std::string_view said = line;
  if (said.starts_with("OpenSSL")) said.remove_prefix(std::min(said.rfind(':') + 1, said.size()));
  if (said.starts_with("Error: ")) said.remove_prefix(7);
  if (said.ends_with('.')) said.remove_suffix(1);
  if (!tls_trouble_.empty()) tls_trouble_ += ", ";
  tls_trouble_ += said;
}

void MqttConnection::OnAnswer(int code) {
  const bool five = settings_.protocol == MqttProtocol::k5;
  if (code != 0) {
    const bool version = five ? code == MQTT_RC_UNSUPPORTED_PROTOCOL_VERSION
                              : code == CONNACK_REFUSED_PROTOCOL_VERSION;
    const bool identity =
        five ? code == MQTT_RC_BAD_USERNAME_OR_PASSWORD || code == MQTT_RC_NOT_AUTHORIZED
             : code == CONNACK_REFUSED_BAD_USERNAME_PASSWORD ||
                   code == CONNACK_REFUSED_NOT_AUTHORIZED;
    refusal_ = std::string("it refused us (") +
               (five ? mosquitto_reason_string(code) : mosquitto_connack_string(code)) + ")";
    if (version) refusal_ += five ? "; set protocol to 3.1.1" : "; set protocol to 5";
    if (identity && settings_.user.empty()) refusal_ += "; set a user and a password";
    if (identity && !settings_.user.empty()) {
      refusal_ += "; correct the password of user '" + settings_.user + "', or the user";
    }
    return;
  }
  accepted_ = true;
  // MQTT 5 can keep our own messages from coming back to us.
  const int options = five ? MQTT_SUB_OPT_NO_LOCAL : 0;
  for (const MqttSubscription& wanted : settings_.subscriptions) {
    int id = 0;
    mosquitto_subscribe_v5(library_.get(), &id, wanted.filter.c_str(), wanted.qos, options,
                           nullptr);
    unanswered_[id] = wanted.filter;
  }
}

void MqttConnection::OnSubscribed(int id, int granted) {
  const auto found = unanswered_.find(id);
  if (found == unanswered_.end()) return;
  if (granted >= kFailed) {
    refusal_ = "it refused the subscription to '" + found->second +
               "'; ask for the right to read these topics";
  }
  unanswered_.erase(found);
}

void MqttConnection::Hand(const mosquitto_message& message) {
  on_message_(
      {message.topic,
       {static_cast<const char*>(message.payload), static_cast<std::size_t>(message.payloadlen)},
       message.qos,
       message.retain});
}

int MqttConnection::fd() const { return mosquitto_socket(library_.get()); }

short MqttConnection::events() const {
  // libmosquitto wants to write all through a TLS handshake, but must not before it is over.
  if (address_.secure && !accepted_) return reached_ ? POLLIN : POLLOUT;
  return mosquitto_want_write(library_.get()) ? POLLIN | POLLOUT : POLLIN;
}

Status MqttConnection::Turn(short revents) {
  if ((revents & POLLERR) != 0) {
    if (const int error = ErrorOf(fd()); error != 0) return Lost(MOSQ_ERR_ERRNO, error);
  }
  if (revents != 0) reached_ = true;
  const bool greeting = address_.secure && !accepted_;
  if (greeting ? revents != 0 : (revents & (POLLIN | POLLHUP)) != 0) {
    if (!greeted_) MURMURATE_RETURN_IF_ERROR(AwaitGreeting());
    if (greeted_) MURMURATE_RETURN_IF_ERROR(Read());
  }
  if (greeting ? revents != 0 : mosquitto_want_write(library_.get())) {
    MURMURATE_RETURN_IF_ERROR(Write());
  }
  const int code = mosquitto_loop_misc(library_.get());
  if (code != MOSQ_ERR_SUCCESS || fd() < 0 || !refusal_.empty()) return Lost(code, errno);
  if (!ready() && (revents & (POLLHUP | POLLERR)) != 0) return Lost(MOSQ_ERR_CONN_LOST, 0);
  return {};
}

/// Behind TLS the other end has proven who it is, and only libmosquitto reads its bytes.
Status MqttConnection::AwaitGreeting() {
  char bytes[kMaxConnack];
  const ssize_t got = recv(fd(), bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
  std::size_t needed = 0;
  const Greeting greeting =
      ExamineConnack({bytes, static_cast<std::size_t>(std::max<ssize_t>(got, 0))}, &needed);
  if (greeting == Greeting::kNone) return Lost(MOSQ_ERR_PROTOCOL, 0);
  greeted_ = greeting == Greeting::kProper || got == 0;
  const int wake_at = greeted_ ? 1 : static_cast<int>(needed);  // bytes
  setsockopt(fd(), SOL_SOCKET, SO_RCVLOWAT, &wake_at, sizeof wake_at);
  return {};
}

Status MqttConnection::Read() {
  for (int i = 0; i < kPacketsPerTurn; ++i) {
    errno = 0;
    const bool was_ready = ready();
    const int code = mosquitto_loop_read(library_.get(), 1);
    const int error = errno;
    if (code != MOSQ_ERR_SUCCESS || fd() < 0) return Lost(code, error);
    // Every packet makes a line for it, whether it is read or not.
    if (!was_ready && ready()) mosquitto_log_callback_set(library_.get(), nullptr);
    if (error == EAGAIN) break;
  }
  return {};
}

Status MqttConnection::Write() {
  errno = 0;
  const int code = mosquitto_loop_write(library_.get(), 1);
  if (code != MOSQ_ERR_SUCCESS || fd() < 0) return Lost(code, errno);
  return {};
}

PublishOutcome MqttConnection::Publish(const std::string& topic, std::string_view payload, int qos,
                                       bool retained) {
  if (!ready() || fd() < 0) return PublishOutcome::kDown;
  if (in_flight_ >= settings_.maximum_in_flight) return PublishOutcome::kFull;
  if (topic.size() + payload.size() > settings_.maximum_message_bytes) {
    return PublishOutcome::kRefused;
  }
  const int code =
      mosquitto_publish(library_.get(), nullptr, topic.c_str(), static_cast<int>(payload.size()),
                        payload.data(), qos, retained);
  if (code != MOSQ_ERR_SUCCESS) return PublishOutcome::kRefused;
  ++in_flight_;
  return PublishOutcome::kAccepted;
}

void MqttConnection::SayGoodbye() {
  if (fd() < 0 || !accepted_) return;
  mosquitto_disconnect(library_.get());
  mosquitto_loop_write(library_.get(), 1);
}

Status MqttConnection::Lost(int code, int error) const {
  if (!refusal_.empty()) return Say(refusal_);
  return Say(Why(code, error));
}

std::string MqttConnection::Why(int code, int error) const {
  if (!tls_trouble_.empty() || code == MOSQ_ERR_TLS) {
    return "TLS failed (" + (tls_trouble_.empty() ? "no reason given" : tls_trouble_) +
           "); check the files of the authority, the certificate and the key on both sides";
  }
  // An end within a packet is an error without a number.
  const bool cut = code == MOSQ_ERR_ERRNO &&
                   (error == 0 || (!accepted_ && (error == ECONNRESET || error == EPIPE)));
  switch (cut ? static_cast<int>(MOSQ_ERR_CONN_LOST) : code) {
    case MOSQ_ERR_EAI:
      return std::string("its host is not known (") + gai_strerror(error) +
             "); correct the name or the network's DNS";
    case MOSQ_ERR_ERRNO:
      if (accepted_) return std::string("the connection broke: ") + strerror(error);
      return std::string("cannot be reached: ") + strerror(error) +
             "; start it, or correct the address";
    case MOSQ_ERR_KEEPALIVE:
      return "it has been silent for " + std::to_string(settings_.keepalive_s) +
             " s and does not answer";
    case MOSQ_ERR_SUCCESS:
    case MOSQ_ERR_NO_CONN:
    case MOSQ_ERR_CONN_LOST:
      if (accepted_) return "it closed the connection";
      return address_.secure
                 ? "it closed the connection without an answer; does it speak TLS on this port, or "
                   "want a client's certificate?"
                 : "it closed the connection without an answer; is it a broker, and without TLS?";
    default:
      return std::string("what it sends is no MQTT (") + mosquitto_strerror(code) +
             "); is it a broker?";
  }
}

Status MqttConnection::Say(const std::string& what) const {
  return Unavailable("broker " + address_.ToString() + ": " + what);
}

}  // namespace murmurate
