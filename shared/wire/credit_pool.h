// CreditPool: how many trajectories of one model may be under way, and who is to play them; the
// room's own business.
//
//   limit >= what live senders hold (granted, not yet dealt with) + what waits for or is in
//   training
//
// Freely: one trajectory at a time to whoever holds least per agent. What a sender holds beyond its
// fair share (it was alone, others have joined) counts only as that share, so that they need not
// wait. In lock-step: exactly one batch, divided over the agents in the order of their indices;
// nothing more until it has been trained on; and so for every pace where the model takes experience
// of the current version only.
#pragma once

#include <cstdint>
#include <span>

#include "shared/wire/sender.h"

namespace murmurate::wire {

class CreditPool {
 public:
  explicit CreditPool(SessionModel session_model) : model(std::move(session_model)) {}

  /// A sender that plays, and its share of this model.
  struct Holder {
    Sender* sender;
    Share* share;
  };

  void Delivered() { ++unreleased_; }
  void Released(int count);
  /// What was delivered is all there will be of this batch: nothing is given until it is released.
  void CloseRound() { closed_ = true; }
  /// Gives out what may be given out. `spent`: the run has the steps it was told to take, so in
  /// lock-step nothing more begins.
  void Grant(std::span<const Holder> holders, bool spent, std::int64_t now_ns);
  /// Delivered, and not yet trained on.
  std::uint64_t unreleased() const { return unreleased_; }

  /// Whose turn is next, for a checkpoint.
  struct Turn {
    std::uint64_t grants = 0;
    std::uint32_t next_index = 0;
  };
  Turn turn() const { return {grants_, next_index_}; }
  void GoOnFrom(const Turn& turn) {
    grants_ = turn.grants;
    next_index_ = turn.next_index;
  }

  const SessionModel model;
  std::uint64_t version = 0;
  bool dirty = true;  ///< something happened that may allow a grant

 private:
  void GrantFreely(std::span<const Holder> holders, std::int64_t now_ns);
  void GrantRound(std::span<const Holder> holders, std::int64_t now_ns);
  void Give(const Holder& holder, std::uint64_t at_version, std::int64_t now_ns);

  bool closed_ = false;
  std::uint64_t unreleased_ = 0;
  std::uint64_t grants_ = 0;
  std::uint32_t next_index_ = 0;  ///< lock-step: the agent whose turn it is
};

}  // namespace murmurate::wire
