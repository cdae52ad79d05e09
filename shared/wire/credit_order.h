// CreditOrder: the senders of one model that may be granted credit, and who of them is next; the
// room's own business (credit_pool.h says by which rule).
//
// It keeps every sender filed by what it held when it was filed last, so that a grant among n
// senders, a newcomer and a return cost O(log n). O(n) only when another number of agents gives
// each another fair part (about 2 sqrt(limit) times as n grows), when senders begin or cease to
// take turns, and, for Seats, when other agents are there.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "shared/wire/sender.h"

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

  /// Files a sender by what it is now, or takes it out when it does not play. To be called for each
  /// whose share, seats, pace or models have changed, and then Arrange.
  void File(const CreditHolder& holder, bool plays);
  void Arrange();
  void TakeOut(Share* share);  ///< before it is destroyed

  std::uint64_t agents() const { return agents_; }
  /// One of them plays in lock-step.
  bool lockstep() const { return lockstep_ > 0; }
  /// More agents than the limit.
  bool turns() const { return turns_; }
  std::uint64_t held() const { return held_; }
  /// What they hold as it counts against the limit: up to a fair part each or, in turns, one for
  /// who waits and has all it needs.
  std::uint64_t counted() const { return counted_; }
  /// Who is next and may hold more; null sender: there is none.
  CreditHolder Next() const;
  /// Who waits for credit, has none for some of its agents, and plays several models or, if
  /// `begun`, holds some; in the order of sender ids.
  std::vector<CreditHolder> Incomplete(bool begun) const;
  /// All of them, in the order of sender ids.
  const std::map<std::uint64_t, CreditHolder>& all() const { return all_; }
  /// Every agent by its index, in order. Valid until a File that changes them.
  std::span<const std::pair<std::uint32_t, CreditHolder>> Seats();

 private:
  /// Least held / agents first; of equals the one that has waited longest, then the lowest index.
  struct Key {
    std::uint64_t held, agents, last_grant, index, sender;
    bool operator<(const Key& other) const;
  };

  using Queue = std::map<Key, CreditHolder>;

  Key KeyOf(const Filing& filing) const;
  std::uint64_t Counted(const Filing& filing) const;
  /// By its filing; `node`: its place in next_ so far, or none.
  void List(const CreditHolder& holder, Queue::node_type node);
  Queue::node_type Unlist(const Filing& filing);
  void Fill();

  const std::uint64_t limit_;
  std::uint64_t agents_ = 0, held_ = 0, counted_ = 0, lockstep_ = 0;
  bool turns_ = false;
  std::uint64_t fair_ = 0;  ///< for each agent; not in turns
  std::map<std::uint64_t, CreditHolder> all_;
  Queue next_;  ///< in turns without those that have one for each agent
  std::map<std::uint64_t, CreditHolder> incomplete_several_, incomplete_begun_;
  bool seats_valid_ = false;
  std::vector<std::pair<std::uint32_t, CreditHolder>> seats_;
};

}  // namespace murmurate::wire
