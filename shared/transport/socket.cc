#include "shared/transport/socket.h"

#include <errno.h>

#include <chrono>
#include <thread>
#include <tuple>
#include <type_traits>
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

/// 0, or the number of the error that ended `call` (EAGAIN for an empty result of a send or a
/// receive). A call that a signal interrupts is made again. Every call of a socket is made by
/// it (copying and moving a whole message cannot fail): no exception of zmq.hpp leaves this room.
template <typename Call>
int ErrorOf(Call call) {
  for (;;) {
    try {
      if constexpr (std::is_void_v<decltype(call())>)
        return call(), 0;
      else
        return call() ? 0 : EAGAIN;
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR) return error.num();
    }
  }
}

/// In SocketKind's order.
constexpr zmq::socket_type kTypes[] = {zmq::socket_type::router, zmq::socket_type::dealer,
                                       zmq::socket_type::pub, zmq::socket_type::sub};

void SetOptions(zmq::socket_t& socket, SocketKind kind, const SocketOptions& options) {
  namespace sockopt = zmq::sockopt;
  socket.set(sockopt::maxmsgsize, static_cast<std::int64_t>(options.max_message_bytes));
  socket.set(sockopt::linger, options.linger_ms);
  socket.set(sockopt::sndhwm, options.high_water_mark);
  socket.set(sockopt::rcvhwm, options.high_water_mark);
  socket.set(sockopt::handshake_ivl, 5000);
  socket.set(sockopt::heartbeat_ivl, 1000);
  socket.set(sockopt::heartbeat_timeout, 3000);
  socket.set(sockopt::heartbeat_ttl, 3000);
  socket.set(sockopt::reconnect_ivl, 2);
  socket.set(sockopt::reconnect_ivl_max, 1000);
  socket.set(sockopt::backlog, 1024);
  if (kind == SocketKind::kRouter) socket.set(sockopt::router_mandatory, true);
  if (kind == SocketKind::kDealer) socket.set(sockopt::immediate, true);
  if (kind != SocketKind::kSubscriber) return;
  if (options.conflate) socket.set(sockopt::conflate, true);
  socket.set(sockopt::subscribe, options.subscription);
}

bool ReceivePart(zmq::socket_t& socket, zmq::message_t& part) {
  if (ErrorOf([&] { return socket.recv(part, zmq::recv_flags::dontwait); }) != 0) return false;
  TakesOver(part.data());
  return true;
}

template <typename... Arguments>
std::unique_ptr<zmq::message_t> MakeMessage(Arguments... arguments) {
  std::unique_ptr<zmq::message_t> message;
  const int error = ErrorOf([&] { message = std::make_unique<zmq::message_t>(arguments...); });
  MURMURATE_CHECK(error == 0, "no memory for a message");
  return message;
}

}  // namespace

Frame::Frame() = default;
Frame::Frame(std::span<const std::byte> bytes)
    : message_(MakeMessage(static_cast<const void*>(bytes.data()), bytes.size())) {}
Frame::Frame(std::span<const std::byte> bytes, std::function<void()> release) {
  auto hint = std::make_unique<Release>(std::move(release));
  void* data = const_cast<std::byte*>(bytes.data());
  GivesAway(data);
  message_ = MakeMessage(data, bytes.size(), RunRelease, static_cast<void*>(hint.get()));
  (void)hint.release();
}
Frame::Frame(Frame&&) noexcept = default;
Frame& Frame::operator=(Frame&&) noexcept = default;
Frame::~Frame() = default;

std::span<const std::byte> Frame::bytes() const {
  if (!message_) return {};
  return {message_->data<std::byte>(), message_->size()};
}

SocketContext::SocketContext() {
  MURMURATE_CHECK(zmq::version() >= std::make_tuple(4, 3, 3),
                  "libzmq is older than 4.3.3 (its security fixes): install a newer libzmq5");
  const int error = ErrorOf([this] { context_ = std::make_unique<zmq::context_t>(); });
  MURMURATE_CHECK(error == 0, "libzmq cannot make a context");
}
SocketContext::~SocketContext() = default;

Result<Socket> Socket::Open(SocketContext& context, SocketKind kind, const SocketOptions& options) {
  std::unique_ptr<State> state;
  const zmq::socket_type type = kTypes[static_cast<int>(kind)];
  int error = ErrorOf([&] {
    state.reset(new State{zmq::socket_t(*context.context_, type), kind});
  });
  if (error != 0) {
    return ResourceError(std::string("cannot open a socket: ") + zmq_strerror(error) +
                         "; raise the limit of open files (ulimit -n)");
  }
  error = ErrorOf([&] { SetOptions(state->socket, kind, options); });
  MURMURATE_CHECK(error == 0, "libzmq refuses a socket option");
  return Socket(std::move(state));
}

Socket::Socket(std::unique_ptr<State> state) : state_(std::move(state)) {}
Socket::Socket(Socket&&) noexcept = default;
Socket& Socket::operator=(Socket&&) noexcept = default;
Socket::~Socket() = default;

Status Socket::BindIpc(const std::string& address, const std::string& path) {
  Result<UnixListener> listener = UnixListener::Open(path);
  if (!listener.ok()) return listener.status();
  zmq::socket_t& socket = state_->socket;
  const int descriptor = listener->ReceiveDescriptor();
  const int error = ErrorOf([&] {
    socket.set(zmq::sockopt::use_fd, descriptor);
    socket.bind(address);
  });
  ErrorOf([&] { socket.set(zmq::sockopt::use_fd, -1); });
  if (error != 0) return ResourceError("cannot listen on " + address + ": " + zmq_strerror(error));
  state_->listeners.push_back(*std::move(listener));
  state_->bound_address = address;
  return Status();
}

Status Socket::Bind(const std::string& address) {
  Result<ParsedAddress> parsed = ParseAddress(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->ipc) return BindIpc(address, parsed->path);
  const std::string where = parsed->Text();
  const auto bind = [&] {
    state_->socket.set(zmq::sockopt::ipv6, parsed->host.front() == '[');
    state_->socket.bind(where);
    state_->bound_address = state_->socket.get(zmq::sockopt::last_endpoint);
  };
  int error = ErrorOf(bind);
  for (int attempt = 0; error == EADDRINUSE && attempt < 10; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    error = ErrorOf(bind);
  }
  if (error == EADDRINUSE) {
    return Status(StatusCode::kAlreadyRunning,
                  "another program listens on " + address +
                      ": stop it or choose another address with server.listen");
  }
  if (error == 0) return Status();
  return ResourceError("cannot listen on " + address + ": " + zmq_strerror(error) +
                       "; expected an address of this machine, e.g. tcp://127.0.0.1:7420");
}

Status Socket::Connect(const std::string& address) {
  MURMURATE_RETURN_IF_ERROR(CheckConnectable(address));
  const Result<ParsedAddress> parsed = ParseAddress(address);
  const int error = ErrorOf([&] {
    if (!parsed->ipc) state_->socket.set(zmq::sockopt::ipv6, parsed->host.front() == '[');
    state_->socket.connect(parsed->Text());
  });
  if (error == 0) return Status();
  return InvalidArgument("cannot connect to " + address + ": " + zmq_strerror(error) +
                         "; expected e.g. tcp://127.0.0.1:7420 or ipc:///tmp/murmurate/main");
}

std::string Socket::BoundAddress() const { return state_->bound_address; }

bool Socket::Readable() const {
  int events = 0;
  ErrorOf([&] { events = state_->socket.get(zmq::sockopt::events); });
  return (events & ZMQ_POLLIN) != 0;
}

int Socket::fd() const {
  int fd = -1;
  ErrorOf([&] { fd = static_cast<int>(state_->socket.get(zmq::sockopt::fd)); });
  return fd;
}

// The frames are sent as copies (libzmq counts references, nothing is moved), so that a message
// that could not be sent whole is still the caller's.
SendOutcome Socket::TrySend(Message& message) {
  constexpr zmq::send_flags kLast = zmq::send_flags::dontwait;
  constexpr zmq::send_flags kMore = kLast | zmq::send_flags::sndmore;
  zmq::socket_t& socket = state_->socket;
  if (state_->kind == SocketKind::kRouter) {
    const int error = ErrorOf([&] { return socket.send(zmq::buffer(message.peer), kMore); });
    if (error != 0) return error == EAGAIN ? SendOutcome::kWouldBlock : SendOutcome::kNoPeer;
  }
  bool failed = false;
  for (std::size_t i = 0; i < message.frames.size(); ++i) {
    zmq::message_t copy;
    if (zmq::message_t* frame = message.frames[i].message_.get()) {
      copy.copy(*frame);
      GivesAway(copy.data());
    }
    const zmq::send_flags flags = i + 1 < message.frames.size() ? kMore : kLast;
    const int error = ErrorOf([&] { return socket.send(copy, flags); });
    if (error != 0 && i == 0) return SendOutcome::kWouldBlock;
    // The connection ended between two frames: libzmq has taken back the first ones and swallows
    // the rest of this message, which it must therefore be given.
    failed |= error != 0;
  }
  if (failed) return SendOutcome::kWouldBlock;
  message.frames.clear();
  return SendOutcome::kSent;
}

bool Socket::TryReceive(Message* message) {
  zmq::message_t part;
  if (!ReceivePart(state_->socket, part)) return false;
  bool more = part.more();
  message->peer.clear();
  std::size_t count = 0;
  if (state_->kind == SocketKind::kRouter) {
    message->peer.assign(part.data<char>(), part.size());
    if (!more || !ReceivePart(state_->socket, part)) return message->frames.clear(), true;
    more = part.more();
  }
  for (;;) {
    if (count < kMaxFrames) {
      if (message->frames.size() == count) message->frames.emplace_back();
      Frame& frame = message->frames[count++];
      if (!frame.message_) frame.message_ = std::make_unique<zmq::message_t>();
      frame.message_->move(part);
    }
    if (!more || !ReceivePart(state_->socket, part)) break;
    more = part.more();
  }
  message->frames.resize(count);
  return true;
}

}  // namespace murmurate
