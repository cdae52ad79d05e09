// Credits: what a ServerSession lets its senders send (bytes of a budget that they share, steps of
// each model's pool: credit_pool.h), and which of them have not been told so; the room's own
// business.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <vector>

#include "server/session/credit_pool.h"
#include "server/session/replies.h"
#include "server/session/sender.h"

namespace murmurate::wire {

class Credits {
 public:
  explicit Credits(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}

  std::uint32_t AddModel(SessionModel model);
  /// The batches of a model have another shape from now on; who plays it is to be told.
  void SetBatch(std::uint32_t model, const SessionBatch& batch, Senders& senders);
  CreditPool& pool(std::uint32_t model) { return pools_[model]; }
  const CreditPool& pool(std::uint32_t model) const { return pools_[model]; }

  /// A sender that has a session shares the budget until it leaves.
  void Enter() { ++present_; }
  void Leave(Sender& sender);
  int present() const { return present_; }
  /// Whether there is memory for the largest trajectory of one of `models`, instead of
  /// `own_bytes`.
  bool HasRoomFor(const std::vector<std::uint32_t>& models, std::size_t own_bytes) const;
  /// The sender plays its `models` from now on.
  void SetModels(Sender& sender);
  /// Gives byte credit up to this sender's part of the budget, at least one trajectory.
  void FitBytes(Sender& sender);

  /// Notes that whether or how it plays, or what it holds, has changed.
  void Touch(Sender& sender);
  /// Notes the same of one model, which may allow a grant.
  void Touch(const Sender& sender, Share& share);
  /// Notes the same of all models that it plays now.
  void TouchPlayed(Sender& sender);
  /// Notes that its peer was muted: it is given nothing until that is over.
  void Mute(Sender& sender);

  /// Gives back what a message of this session has spent.
  void Return(Sender& sender, Share* share, std::uint64_t sequence, std::size_t bytes, bool steps);
  /// Gives out what may be given out to those that are live and not muted.
  void Grant(Senders& senders, const Replies& replies, std::int64_t now_ns);
  /// Gives no credit from now on.
  void Stop() { stopped_ = true; }

  /// The sender's totals are to be sent.
  void MarkUnsent(Sender& sender);
  void SendUnsent(Senders& senders, Replies& replies);
  /// The totals of each model that it plays, in the order of HELLO.
  std::vector<ModelCredit> Totals(const Sender& sender) const;

 private:
  void CheckMutes(Senders& senders, const Replies& replies, std::int64_t now_ns);
  std::size_t ReserveFor(const std::vector<std::uint32_t>& models) const;

  const std::uint64_t budget_bytes_;
  std::deque<CreditPool> pools_;              ///< by the learner's model number
  int present_ = 0;                           ///< senders not gone
  std::uint64_t reserves_ = 0, windows_ = 0;  ///< bytes, over all present
  std::set<std::uint64_t> muted_;             ///< senders, until seen to be heard again
  std::vector<std::uint64_t> unsent_;         ///< senders
  bool stopped_ = false;
};

}  // namespace murmurate::wire
