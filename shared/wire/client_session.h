// ClientSession: the client's half of the protocol as a pure state machine. No socket, no clock, no
// thread: its owner hands it messages and the time, and sends what it returns.
//
//            Start                 HELLO_OK                 nothing heard 3 s
//   kIdle ---------> kGreeting ----------------> kLive <-------------------> kDegraded
//                      ^   |  ERROR(spaces...)     |                             | 10 s
//                      |   +-----> kRefused        | GOAWAY, other incarnation   v
//                      +---------------------------+----------------------- kLost (reopen the
//                      socket)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/wire/messages.h"

namespace murmurate::wire {

class ClientSession {
 public:
  enum class State : std::uint8_t { kIdle, kGreeting, kLive, kDegraded, kLost, kRefused };

  /// What the owner must act on, in order.
  struct Event {
    enum class Kind : std::uint8_t {
      kWelcome,     ///< HELLO_OK taken: read hello_ok(); sequence numbers restart at 1
      kCredit,      ///< totals or at_version changed: read credit()
      kNewVersion,  ///< the learner has published something newer
      kGoaway,      ///< read reason()
      kRefused,  ///< read reason(); asked again after 5 s (the learner may be restarted otherwise)
      kLost,     ///< close and reopen the socket; HELLO follows
    };
    Kind kind;
  };
  struct Output {
    std::vector<Body> send;
    std::vector<Event> events;
  };

  explicit ClientSession(std::uint64_t sender) : sender_(sender) {}

  /// (Re)states who we are; in a live session HELLO goes out again with the full list.
  Output Introduce(Hello hello, std::int64_t now_ns);
  Output OnMessage(const Decoded& message, std::int64_t now_ns);
  /// Call at least every 100 ms: HELLO retries (2 ms, doubling to 1 s), PING every heartbeat,
  /// silence.
  Output OnTick(const Ping& progress, std::int64_t now_ns);
  /// The number for the next EXPERIENCE.
  std::uint64_t NextSequence() { return ++sequence_; }

  State state() const { return state_; }
  std::uint64_t sender() const { return sender_; }
  const std::optional<HelloOk>& hello_ok() const { return hello_ok_; }
  /// Of each model, in the order of Hello::models; totals of this session.
  const std::vector<ModelCredit>& credit() const { return credit_; }
  std::uint64_t bytes_total() const { return bytes_total_; }
  std::uint64_t acknowledged() const { return acknowledged_; }  ///< highest ACCEPTED sequence
  const std::string& reason() const { return reason_; }         ///< why it is not live
  bool restart_expected() const { return restart_expected_; }   ///< of the last GOAWAY

 private:
  std::uint64_t sender_;
  State state_ = State::kIdle;
  std::optional<Hello> hello_;
  std::optional<HelloOk> hello_ok_;
  std::vector<ModelCredit> credit_;
  std::uint64_t bytes_total_ = 0, sequence_ = 0, acknowledged_ = 0;
  std::string reason_;
  bool restart_expected_ = false;
  std::int64_t last_heard_ns_ = 0, last_ping_ns_ = 0, next_hello_ns_ = 0, hello_backoff_ns_ = 0;
};

}  // namespace murmurate::wire
