// SessionTotals: what counts up between a client and its learner: EXPERIENCE sent, acknowledged,
// committed, refused and lost, and the credit for more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/wire/actor_messages.h"

namespace murmurate::wire {

class SessionTotals {
 public:
  /// Raised says which totals a message has raised.
  struct Raised {
    bool credit = false, version = false;
  };

  /// The number for the next EXPERIENCE.
  std::uint64_t NextSequence() { return ++sequence_; }
  std::uint64_t sequence() const { return sequence_; }
  /// A new session begins: its totals restart. `succeeds`: it is with another learner than the last
  /// one.
  void BeginSession(const HelloOk& ok, bool succeeds);
  /// Takes in HELLO_OK, of a new session or of one that goes on.
  void OnHelloOk(const HelloOk& ok);
  /// Totals never fall: those of a message that was overtaken change nothing.
  Raised OnCredit(const std::vector<ModelCredit>& models, std::uint64_t bytes_total);
  void OnAccepted(std::uint64_t sequence);
  /// False for a model that the session does not have.
  bool OnCommitted(const Committed& committed);
  /// Counts an ERROR that leaves the session as it is.
  void OnRefused(const Error& error);

  /// The credit of each model, in the order of Hello::models; totals of this session.
  const std::vector<ModelCredit>& credit() const { return credit_; }
  std::uint64_t bytes() const { return bytes_; }  ///< credit in bytes, in this session
  std::uint64_t acknowledged() const { return acknowledged_; }  ///< highest ACCEPTED sequence
  /// The newest COMMITTED of each model, in the order of Hello::models; may be shorter.
  const std::vector<Committed>& committed() const { return committed_; }
  /// EXPERIENCE sent that no learner has: what the one before a resumed one had not yet saved.
  std::uint64_t lost() const { return lost_; }
  /// EXPERIENCE the learner refused for what it was (credit, meaning, numbers, staleness, order),
  /// and its sentence for the last one. The session goes on.
  std::uint64_t refused() const { return refused_; }
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  std::vector<ModelCredit> credit_;
  std::vector<Committed> committed_;
  std::uint64_t bytes_ = 0, sequence_ = 0, acknowledged_ = 0, refused_ = 0, lost_ = 0;
  std::string last_refusal_;
};

}  // namespace murmurate::wire
