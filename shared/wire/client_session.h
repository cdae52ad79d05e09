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

#include "shared/core/random.h"
#include "shared/wire/messages.h"

namespace murmurate::wire {

class ClientSession {
 public:
  enum class State : std::uint8_t { kIdle, kGreeting, kLive, kDegraded, kLost, kRefused };

  /// What the owner must act on, in order.
  struct Event {
    enum class Kind : std::uint8_t {
      kWelcome,     ///< HELLO_OK taken: read hello_ok()
      kCredit,      ///< totals or at_version changed: read credit()
      kNewVersion,  ///< the learner has published something newer
      kSettings,    ///< read settings()
      kCommitted,   ///< read committed()
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
  explicit ClientSession(std::uint64_t sender) : sender_(sender), random_(sender) {}

  /// (Re)states who we are; in a live session HELLO goes out again with the full list.
  Output Introduce(Hello hello, std::int64_t now_ns);
  Output OnMessage(const Decoded& message, std::int64_t now_ns);
  /// Call at least every 100 ms: HELLO retries (2 ms, doubling to 1 s), PING every heartbeat,
  /// silence. A second and more without a call: we were suspended, not the learner silent. It may
  /// have let go of us, so HELLO asks whether the session goes on.
  Output OnTick(const Ping& progress, std::int64_t now_ns);
  /// OnTick would send its `progress`.
  bool PingDue(std::int64_t now_ns) const;
  /// The number for the next EXPERIENCE.
  std::uint64_t NextSequence() { return ++sequence_; }

  State state() const { return state_; }
  /// True until that is answered: experience waits, as it may be of a session that is over.
  bool unsure() const { return unsure_; }
  std::uint64_t sender() const { return sender_; }
  const std::optional<HelloOk>& hello_ok() const { return hello_ok_; }
  /// Of each model, in the order of Hello::models; totals of this session.
  const std::vector<ModelCredit>& credit() const { return credit_; }
  const Settings& settings() const { return settings_; }
  std::uint64_t bytes_total() const { return bytes_total_; }
  std::uint64_t acknowledged() const { return acknowledged_; }  ///< highest ACCEPTED sequence
  /// The newest COMMITTED of each model, in the order of Hello::models; may be shorter.
  const std::vector<Committed>& committed() const { return committed_; }
  /// EXPERIENCE sent that no learner has: what the one before a resumed one had not yet saved.
  std::uint64_t lost_trajectories() const { return lost_trajectories_; }
  /// Whether the last kWelcome began a new session: totals restart at 0. A HELLO in a live session
  /// goes on with them.
  bool fresh_session() const { return fresh_session_; }
  /// EXPERIENCE the learner refused for what it was (credit, meaning, numbers, staleness, order),
  /// and its sentence for the last one. The session goes on.
  std::uint64_t refused_trajectories() const { return refused_trajectories_; }
  const std::string& last_refusal() const { return last_refusal_; }
  const std::string& reason() const { return reason_; }        ///< why it is not live
  bool restart_expected() const { return restart_expected_; }  ///< of the last GOAWAY
  std::uint32_t deadline_ms() const { return deadline_ms_; }   ///< of the last GOAWAY

 private:
  void SendHello(std::int64_t now_ns, Output* out);
  void Ask(std::int64_t now_ns, Output* out);
  void Heard(std::int64_t now_ns);
  void OnHelloOk(const HelloOk& ok, Output* out);
  void OnCredit(const std::vector<ModelCredit>& models, std::uint64_t bytes_total, Output* out);
  void OnError(const Error& error, std::int64_t now_ns, Output* out);
  void OnCommitted(const Committed& committed, Output* out);
  void OnGoaway(const Goaway& goaway, std::int64_t now_ns, Output* out);
  void OnWaking(std::int64_t away_ns, std::int64_t now_ns, Output* out);
  void OnSilence(std::int64_t silent_ns, std::int64_t now_ns, Output* out);
  bool Answers(const HelloOk& ok) const;
  bool in_session() const { return state_ == State::kLive || state_ == State::kDegraded; }

  std::uint64_t sender_;
  Random random_;
  State state_ = State::kIdle;
  std::optional<Hello> hello_;
  std::optional<HelloOk> hello_ok_;
  std::vector<ModelCredit> credit_;
  Settings settings_;
  std::uint64_t bytes_total_ = 0, sequence_ = 0, acknowledged_ = 0, refused_trajectories_ = 0;
  std::vector<Committed> committed_;
  std::uint64_t lost_trajectories_ = 0;
  std::uint32_t deadline_ms_ = 0;
  std::string reason_, last_refusal_;
  bool restart_expected_ = false, fresh_session_ = true;
  bool hello_open_ = false;  ///< a HELLO is not answered yet
  bool unsure_ = false;
  std::int64_t last_tick_ns_ = 0;
  std::int64_t last_heard_ns_ = 0, last_ping_ns_ = 0, next_hello_ns_ = 0, hello_backoff_ns_ = 0;
};

}  // namespace murmurate::wire
