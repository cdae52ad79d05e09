// CreditPool: how many trajectories of one model may be under way, and who is to play them; the
// room's own business.
//
//   limit >= what live senders hold (granted, not yet dealt with) + what waits for or is in
//   training
//
// Freely: one trajectory at a time to the sender that holds least per agent. What a sender holds
// beyond its fair share (it was alone, others have joined) counts only as that share, so that they
// need not wait.
//
// A game whose agents share a thread goes on with all of them or not at all: one agent that waits
// for credit (kCredit) keeps the others from finishing. While no batch is full, what is missing for
// one lies with such games, so some must be able to play on. With limit >= a batch + one for each
// agent that is so by itself: at most a batch less one has come, and of what is left some sender
// has one for each of its agents. With less, one that holds some is then given one for each agent,
// whatever the limit; and with more agents than the limit, senders take turns: the one whose last
// grant is the oldest is given one for each agent, counts as one while it has all it needs, and as
// none while it does not: its games then stand still until its turn comes again, with what they
// have begun. Who plays several models does not take turns while no batch is full: those of two
// models might never meet.
//
// In lock-step: exactly one batch, divided over the agents in the order of their indices; nothing
// more until it has been trained on; and so for every pace where the model takes experience of the
// current version only.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "server/session/credit_order.h"

namespace murmurate::wire {

class CreditPool {
 public:
  explicit CreditPool(SessionModel session_model)
      : model(std::move(session_model)),
        order_(static_cast<std::uint64_t>(model.outstanding_limit)) {}

  /// Notes that its play, what it holds, its slots, pace or models may have changed. Alone this is
  /// no reason to grant anything: that is `dirty`.
  void Touch(const Sender& sender, Share* share);
  /// Forgets a share; before it is destroyed.
  void Forget(Share* share) { order_.Remove(share); }
  /// Changes the batch, after all shares were forgotten and before they are touched again.
  void SetBatch(const SessionBatch& batch);
  /// Files those that were touched anew. `find`: the sender of that id and its share of this model,
  /// null when there is none any more; `plays`: whether it may be given something.
  void Refile(const std::function<CreditHolder(std::uint64_t)>& find,
              const std::function<bool(const CreditHolder&)>& plays);

  void Delivered() { ++unreleased_; }
  void Released(int count);
  /// Ends this batch with what was delivered: nothing is given until it is released.
  void CloseRound() { closed_ = true; }
  /// Gives out what may be given out. `spent`: the run has learned from the steps it was told to,
  /// so in lock-step nothing more begins. Returns the senders to be told, in the order of their
  /// ids.
  std::vector<Sender*> Grant(bool spent, std::int64_t now_ns);
  /// Whether one of those filed plays in lock-step.
  bool lockstep() const { return order_.lockstep(); }
  /// How many are delivered and not yet trained on.
  std::uint64_t unreleased() const { return unreleased_; }

  /// Turn says whose turn is next, for a checkpoint.
  struct Turn {
    std::uint64_t grants = 0;
    std::uint32_t next_index = 0;
  };
  Turn turn() const { return {grants_, next_index_}; }
  void GoOnFrom(const Turn& turn) {
    grants_ = turn.grants;
    next_index_ = turn.next_index;
  }

  SessionModel model;
  std::uint64_t version = 0;
  std::uint64_t learned_steps = 0;
  bool dirty = true;  ///< something happened that may allow a grant

 private:
  void GrantFreely(std::int64_t now_ns);
  void GrantFairParts(std::int64_t now_ns);
  void GrantInTurns(std::int64_t now_ns);
  void Complete(const CreditHolder& holder, std::int64_t now_ns);
  void GrantRound(bool named, std::int64_t now_ns);
  void NameVersion(const CreditHolder& holder);
  void Give(const CreditHolder& holder, std::uint64_t at_version, std::int64_t now_ns);

  CreditOrder order_;
  std::vector<std::uint64_t> touched_;  ///< senders
  std::vector<CreditHolder> refiled_;   ///< since the last Grant
  bool all_named_ = false;  ///< but those refiled: what they hold is for `named_version_`
  std::uint64_t named_version_ = 0;
  std::vector<Sender*> given_;
  bool closed_ = false;
  std::uint64_t unreleased_ = 0;
  std::uint64_t grants_ = 0;
  std::uint32_t next_index_ = 0;  ///< lock-step: the agent whose turn it is
};

}  // namespace murmurate::wire
