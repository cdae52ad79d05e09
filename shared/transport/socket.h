// Sockets: whole messages of bytes in, whole messages of bytes out. The sources of this room are the
// only ones that include zmq.hpp; no header that another room includes does.
//
// No call here waits: sends and receives return at once, Poller is what waits. One thread per
// socket. A Socket is set up as the fault model wants it: ROUTER_MANDATORY, ZMTP heartbeats 1 s / 3
// s, MAXMSGSIZE, HANDSHAKE_IVL 5 s, IMMEDIATE on clients, reconnecting from 2 ms with back-off to 1
// s, LINGER 0 unless said, no HANDOVER.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace zmq {
class context_t;
class message_t;
}  // namespace zmq

namespace murmurate {

/// One frame. Received ones own libzmq's buffer; data is valid until it is destroyed or moved from.
class Frame {
 public:
  Frame();
  explicit Frame(std::span<const std::byte> bytes);  ///< copies
  /// Zero copy: `release` runs once, on any thread, when libzmq needs `bytes` no more.
  Frame(std::span<const std::byte> bytes, std::function<void()> release);
  Frame(Frame&&) noexcept;
  Frame& operator=(Frame&&) noexcept;
  ~Frame();

  std::span<const std::byte> bytes() const;

 private:
  friend class Socket;
  std::unique_ptr<zmq::message_t> message_;  ///< null: no bytes
};

/// The routing id of a ROUTER's peer: opaque bytes, a map key.
using PeerId = std::string;

struct Message {
  PeerId peer;                ///< ROUTER only
  std::vector<Frame> frames;  ///< without the routing id
};

enum class SendOutcome : std::uint8_t {
  kSent,
  kWouldBlock,  ///< the peer's queue is full (the message is untouched: try again later or drop it)
  kNoPeer,      ///< ROUTER: no such peer (any more)
};

enum class SocketKind : std::uint8_t { kRouter, kDealer, kPublisher, kSubscriber };

struct SocketOptions {
  std::size_t max_message_bytes = 16u << 20;  ///< larger frames disconnect the peer
  int high_water_mark = 64;                   ///< messages, a backstop only: credit bounds memory
  int linger_ms = 0;
  bool conflate = false;     ///< kSubscriber: keep only the newest message
  std::string subscription;  ///< kSubscriber: the prefix
};

/// Owns libzmq's context (its two threads). Must outlive its sockets. Destruction waits for
/// nothing: every socket lingers 0 unless told otherwise.
class SocketContext {
 public:
  SocketContext();
  ~SocketContext();

 private:
  friend class Socket;
  std::unique_ptr<zmq::context_t> context_;
};

class Socket {
 public:
  static constexpr std::size_t kMaxFrames = 8;

  static Result<Socket> Open(SocketContext& context, SocketKind kind,
                             const SocketOptions& options = {});
  Socket(Socket&&) noexcept;
  Socket& operator=(Socket&&) noexcept;
  ~Socket();

  /// `address` is tcp://HOST:PORT (PORT may be * to let the system choose) or ipc://PATH (at most
  /// 107 bytes; a left-over socket file without a listener is replaced, a live one is an
  /// error). The message of a failure names the address and what to do (another program on it:
  /// kAlreadyRunning). May be called for several addresses; socket files are 0600 and removed by
  /// the destructor. A tcp port in use is tried again for 100 ms, since libzmq closes its ports
  /// after the Socket is gone.
  Status Bind(const std::string& address);
  Status Connect(const std::string& address);
  /// The address really bound by the last Bind, with the chosen port.
  std::string BoundAddress() const;

  /// kSent: the frames are libzmq's now and the message is empty. Otherwise it is untouched.
  SendOutcome TrySend(Message& message);
  /// False when there is none waiting. At most kMaxFrames frames are kept, the rest is thrown away
  /// (no message of the protocol has as many).
  bool TryReceive(Message* message);

  /// True when TryReceive would return a message.
  bool Readable() const;
  /// The descriptor for a poll(2) over several sources: it becomes readable when Readable may have
  /// become true, and only then. Call Readable before each poll, and wait only if it is false;
  /// nothing else of this socket may be called in between.
  int fd() const;

 private:
  friend class Poller;
  struct State;
  explicit Socket(std::unique_ptr<State> state);
  Status BindIpc(const std::string& address, const std::string& path);
  std::unique_ptr<State> state_;
};

/// An eventfd: wakes a Poller from any thread (and from a game's thread, in one system call).
class WakeSignal {
 public:
  WakeSignal();
  ~WakeSignal();
  WakeSignal(const WakeSignal&) = delete;
  WakeSignal& operator=(const WakeSignal&) = delete;

  void Set() const;
  void Clear() const;
  int fd() const { return fd_; }

 private:
  int fd_;
};

class WakeupReceiver;

/// Waits for any of several sockets to be readable, the signal or the wakeup (wakeup.h).
class Poller {
 public:
  explicit Poller(const WakeSignal* signal, const WakeupReceiver* wakeup = nullptr)
      : signal_(signal), wakeup_(wakeup) {}
  /// Returns after `timeout_ms`, a readable socket, or a signal or ring (which it clears),
  /// whichever is first. Null entries are skipped. True when any was ready.
  bool Wait(std::span<Socket* const> sockets, int timeout_ms);

 private:
  const WakeSignal* signal_;
  const WakeupReceiver* wakeup_;
};

/// An address and its sisters: tcp: main P, announce P+1,
/// weights P+2; ipc: PATH, PATH.announce, PATH.weights.
struct AddressFamily {
  std::string main, announce, weights;
};
/// kInvalidArgument with an example when `main` is neither tcp://HOST:PORT nor ipc://PATH, or too
/// long.
Result<AddressFamily> SisterAddresses(const std::string& main);
/// kInvalidArgument too where one can only listen: tcp://*:7420, tcp://127.0.0.1:*.
Status CheckConnectable(const std::string& address);
/// True for ipc and for tcp addresses whose host resolves to loopback only.
bool IsLocalAddress(const std::string& address);

/// `$XDG_RUNTIME_DIR/murmurate-UID/PID/` (or in the temporary folder), mode 0700, made on first use
/// of the process, and removed with what is in it by RemoveRuntimeFolder. Folders of dead processes
/// of this user are swept when a new one is made.
Result<std::string> RuntimeFolder();
void RemoveRuntimeFolder();

}  // namespace murmurate
