#include "shared/transport/socket.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <zmq.h>

#include <optional>
#include <utility>

#include "shared/core/check.h"
#include "shared/transport/address.h"
#include "shared/transport/socket_state.h"

#if defined(__SANITIZE_THREAD__)
#define MURMURATE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MURMURATE_TSAN 1
#endif
#endif
#ifdef MURMURATE_TSAN
extern "C" void __tsan_acquire(void* address);
extern "C" void __tsan_release(void* address);
#endif

namespace murmurate {
namespace {

// libzmq is not built for ThreadSanitizer, which therefore cannot see that a message orders what
// its sender did before what its receiver does after.
void GivesAway([[maybe_unused]] void* data) {
#ifdef MURMURATE_TSAN
  if (data != nullptr) __tsan_release(data);
#endif
}
void TakesOver([[maybe_unused]] void* data) {
#ifdef MURMURATE_TSAN
  if (data != nullptr) __tsan_acquire(data);
#endif
}

using Release = std::function<void()>;

void RunRelease(void* data, void* hint) {
  TakesOver(data);
  const std::unique_ptr<Release> release(static_cast<Release*>(hint));
  (*release)();
}

int ZmqType(SocketKind kind) {
  switch (kind) {
    case SocketKind::kRouter:
      return ZMQ_ROUTER;
    case SocketKind::kDealer:
      return ZMQ_DEALER;
    case SocketKind::kPublisher:
      return ZMQ_PUB;
    case SocketKind::kSubscriber:
      return ZMQ_SUB;
  }
  return -1;
}

void Set(void* handle, int option, int value) {
  MURMURATE_CHECK(zmq_setsockopt(handle, option, &value, sizeof(value)) == 0,
                  "libzmq refuses a socket option");
}

void SetAll(void* handle, SocketKind kind, const SocketOptions& options) {
  const auto max_bytes = static_cast<std::int64_t>(options.max_message_bytes);
  MURMURATE_CHECK(zmq_setsockopt(handle, ZMQ_MAXMSGSIZE, &max_bytes, sizeof(max_bytes)) == 0,
                  "libzmq refuses ZMQ_MAXMSGSIZE");
  Set(handle, ZMQ_LINGER, options.linger_ms);
  Set(handle, ZMQ_SNDHWM, options.high_water_mark);
  Set(handle, ZMQ_RCVHWM, options.high_water_mark);
  Set(handle, ZMQ_HANDSHAKE_IVL, 5000);
  Set(handle, ZMQ_HEARTBEAT_IVL, 1000);
  Set(handle, ZMQ_HEARTBEAT_TIMEOUT, 3000);
  Set(handle, ZMQ_HEARTBEAT_TTL, 3000);
  Set(handle, ZMQ_RECONNECT_IVL, 2);
  Set(handle, ZMQ_RECONNECT_IVL_MAX, 1000);
  Set(handle, ZMQ_BACKLOG, 1024);
  if (kind == SocketKind::kRouter) Set(handle, ZMQ_ROUTER_MANDATORY, 1);
  if (kind == SocketKind::kDealer) Set(handle, ZMQ_IMMEDIATE, 1);
  if (kind != SocketKind::kSubscriber) return;
  if (options.conflate) Set(handle, ZMQ_CONFLATE, 1);
  MURMURATE_CHECK(zmq_setsockopt(handle, ZMQ_SUBSCRIBE, options.subscription.data(),
                                 options.subscription.size()) == 0,
                  "libzmq refuses a subscription");
}

int SendRetrying(zmq_msg_t* message, void* handle, int flags) {
  int rc;
  do {
    rc = zmq_msg_send(message, handle, flags | ZMQ_DONTWAIT);
  } while (rc < 0 && errno == EINTR);
  return rc;
}

bool ReceiveRetrying(zmq_msg_t* message, void* handle) {
  int rc;
  do {
    rc = zmq_msg_recv(message, handle, ZMQ_DONTWAIT);
  } while (rc < 0 && errno == EINTR);
  if (rc >= 0) TakesOver(zmq_msg_data(message));
  return rc >= 0;
}

void PauseMs(int ms) {
  const timespec pause{0, ms * 1'000'000L};
  nanosleep(&pause, nullptr);
}

}  // namespace

struct Frame::Body {
  Body() { zmq_msg_init(&message); }
  explicit Body(std::span<const std::byte> bytes) {
    MURMURATE_CHECK(zmq_msg_init_size(&message, bytes.size()) == 0, "no memory for a message");
    if (!bytes.empty()) memcpy(zmq_msg_data(&message), bytes.data(), bytes.size());
  }
  ~Body() { zmq_msg_close(&message); }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  zmq_msg_t message;
};

Frame::Frame() = default;
Frame::Frame(std::span<const std::byte> bytes) : body_(std::make_unique<Body>(bytes)) {}
Frame::Frame(std::span<const std::byte> bytes, std::function<void()> release)
    : body_(std::make_unique<Body>()) {
  auto hint = std::make_unique<Release>(std::move(release));
  void* data = const_cast<std::byte*>(bytes.data());
  GivesAway(data);
  MURMURATE_CHECK(
      zmq_msg_init_data(&body_->message, data, bytes.size(), RunRelease, hint.get()) == 0,
      "no memory for a message");
  (void)hint.release();
}
Frame::Frame(Frame&&) noexcept = default;
Frame& Frame::operator=(Frame&&) noexcept = default;
Frame::~Frame() = default;

std::span<const std::byte> Frame::bytes() const {
  if (!body_) return {};
  zmq_msg_t* message = &body_->message;
  return {static_cast<const std::byte*>(zmq_msg_data(message)), zmq_msg_size(message)};
}

SocketContext::SocketContext() : handle_(zmq_ctx_new()) {
  int major, minor, patch;
  zmq_version(&major, &minor, &patch);
  MURMURATE_CHECK(ZMQ_MAKE_VERSION(major, minor, patch) >= ZMQ_MAKE_VERSION(4, 3, 3),
                  "libzmq is older than 4.3.3 (its security fixes): install a newer libzmq5");
  MURMURATE_CHECK(handle_ != nullptr, "libzmq cannot make a context");
}

SocketContext::~SocketContext() {
  while (zmq_ctx_term(handle_) != 0 && errno == EINTR) {
  }
}

Socket::State::~State() {
  listeners.clear();  // first: nobody new finds the file of a socket that is being closed
  zmq_close(handle);
}

Result<Socket> Socket::Open(SocketContext& context, SocketKind kind, const SocketOptions& options) {
  void* handle = zmq_socket(context.handle_, ZmqType(kind));
  if (handle == nullptr) {
    return ResourceError(std::string("cannot open a socket: ") + zmq_strerror(errno) +
                         "; raise the limit of open files (ulimit -n)");
  }
  SetAll(handle, kind, options);
  return Socket(std::make_unique<State>(handle, kind));
}

Socket::Socket(std::unique_ptr<State> state) : state_(std::move(state)) {}
Socket::Socket(Socket&&) noexcept = default;
Socket& Socket::operator=(Socket&&) noexcept = default;
Socket::~Socket() = default;

Status Socket::BindIpc(const std::string& address, const std::string& path) {
  Result<UnixListener> listener = UnixListener::Open(path);
  if (!listener.ok()) return listener.status();
  Set(state_->handle, ZMQ_USE_FD, listener->TakeDescriptor());
  const int rc = zmq_bind(state_->handle, address.c_str());
  const int error = errno;
  Set(state_->handle, ZMQ_USE_FD, -1);
  if (rc != 0) return ResourceError("cannot listen on " + address + ": " + zmq_strerror(error));
  state_->listeners.push_back(*std::move(listener));
  state_->bound_address = address;
  return Status();
}

Status Socket::Bind(const std::string& address) {
  Result<ParsedAddress> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->ipc) return BindIpc(address, parsed->path);
  Set(state_->handle, ZMQ_IPV6, parsed->host.front() == '[' ? 1 : 0);
  const std::string where = parsed->Text();
  int rc = zmq_bind(state_->handle, where.c_str());
  for (int attempt = 0; rc != 0 && errno == EADDRINUSE && attempt < 10; ++attempt) {
    PauseMs(10);
    rc = zmq_bind(state_->handle, where.c_str());
  }
  if (rc != 0 && errno == EADDRINUSE) {
    return Status(StatusCode::kAlreadyRunning,
                  "another program listens on " + address +
                      ": stop it or choose another address with server.listen");
  }
  if (rc != 0) {
    return ResourceError("cannot listen on " + address + ": " + zmq_strerror(errno) +
                         "; expected an address of this machine, e.g. tcp://127.0.0.1:7420");
  }
  char endpoint[256] = {};
  std::size_t size = sizeof(endpoint);
  zmq_getsockopt(state_->handle, ZMQ_LAST_ENDPOINT, endpoint, &size);
  state_->bound_address = endpoint;
  return Status();
}

Status Socket::Connect(const std::string& address) {
  MURMURATE_RETURN_IF_ERROR(CheckConnectable(address));
  const Result<ParsedAddress> parsed = ParseAddress(address);
  if (!parsed->ipc) Set(state_->handle, ZMQ_IPV6, parsed->host.front() == '[' ? 1 : 0);
  if (zmq_connect(state_->handle, parsed->Text().c_str()) != 0) {
    return InvalidArgument("cannot connect to " + address + ": " + zmq_strerror(errno) +
                           "; expected e.g. tcp://127.0.0.1:7420 or ipc:///tmp/murmurate/main");
  }
  return Status();
}

std::string Socket::BoundAddress() const { return state_->bound_address; }

bool Socket::Readable() const {
  int events = 0;
  std::size_t size = sizeof(events);
  zmq_getsockopt(state_->handle, ZMQ_EVENTS, &events, &size);
  return (events & ZMQ_POLLIN) != 0;
}

int Socket::fd() const {
  int fd = -1;
  std::size_t size = sizeof(fd);
  zmq_getsockopt(state_->handle, ZMQ_FD, &fd, &size);
  return fd;
}

// The frames are sent as copies (libzmq counts references, nothing is moved), so that a message
// that could not be sent whole is still the caller's.
SendOutcome Socket::TrySend(Message& message) {
  if (state_->kind == SocketKind::kRouter) {
    Frame peer(std::as_bytes(std::span(message.peer)));
    if (SendRetrying(&peer.body_->message, state_->handle, ZMQ_SNDMORE) < 0) {
      return errno == EAGAIN ? SendOutcome::kWouldBlock : SendOutcome::kNoPeer;
    }
  }
  bool failed = false;
  for (std::size_t i = 0; i < message.frames.size(); ++i) {
    Frame::Body copy;
    if (Frame::Body* body = message.frames[i].body_.get()) {
      zmq_msg_copy(&copy.message, &body->message);
      GivesAway(zmq_msg_data(&copy.message));
    }
    const bool more = i + 1 < message.frames.size();
    const int rc = SendRetrying(&copy.message, state_->handle, more ? ZMQ_SNDMORE : 0);
    if (rc < 0 && i == 0) return SendOutcome::kWouldBlock;
    // The connection ended between two frames: libzmq has taken back the first ones and swallows
    // the rest of this message, which it must therefore be given.
    failed |= rc < 0;
  }
  if (failed) return SendOutcome::kWouldBlock;
  message.frames.clear();
  return SendOutcome::kSent;
}

bool Socket::TryReceive(Message* message) {
  Frame::Body part;
  if (!ReceiveRetrying(&part.message, state_->handle)) return false;
  bool more = zmq_msg_more(&part.message) != 0;
  message->peer.clear();
  std::size_t count = 0;
  if (state_->kind == SocketKind::kRouter) {
    message->peer.assign(static_cast<const char*>(zmq_msg_data(&part.message)),
                         zmq_msg_size(&part.message));
    if (!more) return message->frames.clear(), true;
    more = ReceiveRetrying(&part.message, state_->handle);
    if (!more) return message->frames.clear(), true;
    more = zmq_msg_more(&part.message) != 0;
  }
  for (;;) {
    if (count < kMaxFrames) {
      if (message->frames.size() == count) message->frames.emplace_back();
      Frame& frame = message->frames[count++];
      if (!frame.body_) frame.body_ = std::make_unique<Frame::Body>();
      zmq_msg_move(&frame.body_->message, &part.message);
    }
    if (!more || !ReceiveRetrying(&part.message, state_->handle)) break;
    more = zmq_msg_more(&part.message) != 0;
  }
  message->frames.resize(count);
  return true;
}

}  // namespace murmurate
