// ClientSession: the client's half of the protocol as a pure state machine. No socket, no clock, no
// thread: its owner hands it messages and the time, and sends what it returns.
//
//            Start                 HELLO_OK                 nothing heard 3 s
//   kIdle ---------> kGreeting ----------------> kLive <-------------------> kDegraded
//                      ^   |  ERROR(spaces...)     |                             | 10 s
//                      |   +-----> kRefused        | GOAWAY, other incarnation   v
//                      +---------------------------+----------------------- kLost (reopen socket)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shared/wire/hello_retry.h"
#include "shared/wire/messages.h"
#include "shared/wire/session_totals.h"

namespace murmurate::wire {

class ClientSession {
 public:
  enum class State : std::uint8_t { kIdle, kGreeting, kLive, kDegraded, kLost, kRefused };

  /// An Event is something that the owner must act on, in order.
  struct Event {
    enum class Kind : std::uint8_t {
      kWelcome,     ///< HELLO_OK was accepted: read hello_ok()
      kCredit,      ///< totals or at_version changed: read totals()
      kNewVersion,  ///< the learner has published something newer
      kSettings,    ///< read settings()
      kCommitted,   ///< read totals()
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

  /// `sender` also seeds the jitter of the retries, so that a session can be played again.
  explicit ClientSession(std::uint64_t sender) : sender_(sender), hello_(sender) {}

  /// (Re)states who we are; in a live session HELLO goes out again with the full list.
  Output Introduce(Hello hello, std::int64_t now_ns);
  Output OnMessage(const Decoded& message, std::int64_t now_ns);
  /// Call at least every 100 ms: HELLO retries (2 ms, doubling to 1 s), PING every heartbeat,
  /// silence. A second and more without a call: we were suspended, not the learner silent. It may
  /// have let go of us, so HELLO asks whether the session goes on.
  Output OnTick(const Ping& progress, std::int64_t now_ns);
  /// Whether OnTick would send its `progress`.
  bool PingDue(std::int64_t now_ns) const;
  /// The number for the next EXPERIENCE.
  std::uint64_t NextSequence() { return totals_.NextSequence(); }

  State state() const { return state_; }
  /// True until this HELLO is answered: experience waits, as it may be of a session that is over.
  bool unsure() const { return unsure_; }
  std::uint64_t sender() const { return sender_; }
  const std::optional<HelloOk>& hello_ok() const { return hello_ok_; }
  const Settings& settings() const { return settings_; }
  const SessionTotals& totals() const { return totals_; }
  /// True if the last kWelcome began a new session, whose totals restart at 0. A HELLO in a live
  /// session continues the totals.
  bool fresh_session() const { return fresh_session_; }
  const std::string& reason() const { return reason_; }        ///< why it is not live
  bool restart_expected() const { return restart_expected_; }  ///< of the last GOAWAY
  std::uint32_t deadline_ms() const { return deadline_ms_; }   ///< of the last GOAWAY

 private:
  void Ask(std::int64_t now_ns, Output* out);
  void Heard(std::int64_t now_ns);
  void OnHelloOk(const HelloOk& ok, Output* out);
  void OnCredit(const std::vector<ModelCredit>& models, std::uint64_t bytes_total, Output* out);
  void OnError(const Error& error, std::int64_t now_ns, Output* out);
  void OnGoaway(const Goaway& goaway, std::int64_t now_ns, Output* out);
  void OnWaking(std::int64_t away_ns, std::int64_t now_ns, Output* out);
  void OnSilence(std::int64_t silent_ns, std::int64_t now_ns, Output* out);
  bool in_session() const { return state_ == State::kLive || state_ == State::kDegraded; }

  std::uint64_t sender_;
  HelloRetry hello_;
  SessionTotals totals_;
  State state_ = State::kIdle;
  std::optional<HelloOk> hello_ok_;
  Settings settings_;
  std::uint32_t deadline_ms_ = 0;
  std::string reason_;
  bool restart_expected_ = false, fresh_session_ = true;
  bool unsure_ = false;
  std::int64_t last_tick_ns_ = 0, last_heard_ns_ = 0, last_ping_ns_ = 0;
};

}  // namespace murmurate::wire
