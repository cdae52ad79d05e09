// CreditOrder: the senders of one model that may be granted credit, and which of them is next. Only
// CreditPool uses it (credit_pool.h states the rules).
//
// It keeps every sender filed by what it held when it was filed last, so that a grant among n
// senders, a newcomer and a return cost O(log n). It costs O(n) only when a new number of
// agents changes the fair part of each (about 2 sqrt(limit) times as n grows), when senders begin
// or cease to take turns, and, in Slots(), when agents have come or gone.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "server/session/sender.h"

namespace murmurate::wire {

/// A sender that plays, and its share of this model.
struct CreditHolder {
  Sender* sender = nullptr;
  Share* share = nullptr;
};

class CreditOrder {
 public:
  /// `limit`: SessionModel::outstanding_limit.
  explicit CreditOrder(std::uint64_t limit) : limit_(limit) {}

  /// Files a sender by its present state, or takes it out when it does not play. To be called for
  /// each sender whose share, slots, pace or models have changed; then Arrange is to be called.
  void File(const CreditHolder& holder, bool plays);
  void Arrange();
  void Remove(Share* share);  ///< before it is destroyed

  std::uint64_t agents() const { return agents_; }
  /// Whether at least one of the senders plays in lock-step.
  bool lockstep() const { return lockstep_ > 0; }
  /// Whether senders take turns, because there are more agents than the limit.
  bool turns() const { return turns_; }
  std::uint64_t held() const { return held_; }
  /// How much of what the senders hold counts against the limit: of each sender at most its fair
  /// part; in turns, one for a sender that waits for credit and has one for each agent, none
  /// for one that waits and has less, and up to one for each agent of the others.
  std::uint64_t counted() const { return counted_; }
  /// The next sender that may hold more; a null sender when there is none.
  CreditHolder Next() const;
  /// The senders that wait for credit, have none for some of their agents, and play several models
  /// or, if `begun`, hold some; in the order of sender ids.
  std::vector<CreditHolder> Incomplete(bool begun) const;
  /// All of them, in the order of sender ids.
  const std::map<std::uint64_t, CreditHolder>& all() const { return all_; }
  /// Every agent by its index, in order. Valid until a File that changes them.
  std::span<const std::pair<std::uint32_t, CreditHolder>> Slots();

 private:
  /// Least held / agents first; of equals the one that has waited longest, then the lowest index.
  struct Key {
    std::uint64_t held, agents, last_grant, index, sender;
    bool operator<(const Key& other) const;
  };

  using Queue = std::map<Key, CreditHolder>;

  Key KeyOf(const Filing& filing) const;
  std::uint64_t Counted(const Filing& filing) const;
  /// Enters a sender by its filing; `node` is its former node of next_, which may be empty.
  void List(const CreditHolder& holder, Queue::node_type node);
  Queue::node_type Unlist(const Filing& filing);
  void Fill();

  std::uint64_t limit_;
  std::uint64_t agents_ = 0, held_ = 0, counted_ = 0, lockstep_ = 0;
  bool turns_ = false;
  std::uint64_t fair_ = 0;  ///< for each agent; not in turns
  std::map<std::uint64_t, CreditHolder> all_;
  Queue next_;  ///< in turns without those that have one for each agent
  std::map<std::uint64_t, CreditHolder> incomplete_several_, incomplete_begun_;
  bool slots_valid_ = false;
  std::vector<std::pair<std::uint32_t, CreditHolder>> slots_;
};

}  // namespace murmurate::wire
