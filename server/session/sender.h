// Sender: what the learner knows of one Client; the room's own business.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "murmurate/pace.h"
#include "server/session/server_session.h"

namespace murmurate::wire {

inline constexpr std::uint32_t kNoIndex = ~0u;

/// One agent: the client's own number, and the learner-wide index.
struct AgentSlot {
  std::uint32_t number = 0;
  std::uint32_t index = 0;
  bool heard = false;
  std::uint64_t first_steps = 0;  ///< its own count before its first trajectory here
  std::uint64_t last_steps = 0;   ///< its own count, the newest
};

/// Filing is what a Share was when its pool filed it (credit_order.h).
struct Filing {
  bool filed = false;
  bool waits = false, lockstep = false;  ///< its sender's pace
  bool several = false;                  ///< its sender plays several models
  std::uint64_t sender = 0, held = 0, agents = 0, last_grant = 0, index = 0;
  std::uint64_t counted = 0;  ///< of what is held, against the limit
  std::uint64_t slot_changes = 0;
};

/// One sender's part of one model. Trajectories are counted from the start of the session.
struct Share {
  std::uint32_t model = 0;
  std::uint64_t granted = 0;   ///< may be sent
  std::uint64_t received = 0;  ///< have come
  std::uint64_t returned = 0;  ///< have come and were acknowledged
  std::uint64_t at_version = 0;
  std::uint64_t last_grant = 0;  ///< number of the pool's grant
  std::int64_t progress_ns = 0;  ///< last sign that its agents play
  bool idle = false;             ///< holds credit and shows no such sign
  Filing filing;
  bool touched = false;  ///< since it was filed
  // Over the sender's life:
  std::map<std::uint32_t, std::uint32_t> former;  ///< indices of agents that left, by their number
  std::uint64_t left_steps = 0;                   ///< of agents that are gone
  std::uint64_t pinged_steps = 0, pinged_dropped = 0;
  PingWait wait;                                          ///< as last pinged
  std::uint64_t given_trajectories = 0, given_steps = 0;  ///< taken for training, in this run
  Committed committed;                                    ///< `model` is not set

  std::uint64_t held() const { return granted - returned; }
  const std::vector<AgentSlot>& slots() const { return slots_; }  ///< in the order of HELLO
  void SetSlots(std::vector<AgentSlot> slots);                    ///< instead of those before
  std::uint64_t slot_changes() const { return slot_changes_; }    ///< how often they were set
  const AgentSlot* Find(std::uint32_t number) const;              ///< null: HELLO did not name it
  /// Counts the agent's own number of its steps, as a trajectory of `steps` reports it.
  void CountSteps(const AgentSlot& slot, std::uint64_t agent_steps, std::uint64_t steps);
  /// The steps by the trajectories' own counts, of agents present and those that left.
  std::uint64_t trajectory_steps() const { return left_steps + slot_steps_; }

 private:
  std::vector<AgentSlot> slots_;
  std::vector<std::uint32_t> by_number_;  ///< places in slots_
  std::uint64_t slot_changes_ = 0;
  std::uint64_t slot_steps_ = 0;  ///< sum of last_steps - first_steps
};

struct Sender {
  using Health = ServerSession::ActorReport::Health;

  std::uint64_t id = 0;
  std::string peer, name;
  Pace pace = Pace::kNever;
  Health health = Health::kGone;
  std::uint64_t session = 0;
  std::uint32_t hello_number = 0;  ///< of its last HELLO, as what follows
  std::uint64_t host_identity = 0;
  std::int64_t last_heard_ns = 0;
  std::int64_t first_heard_ns = -1;       ///< by this incarnation; -1: never
  std::int64_t cut_off_ns = -1;           ///< when it could not be reached any more
  std::int64_t claimed_ns = -1;           ///< when another connection said it were this one
  std::map<std::uint32_t, Share> shares;  ///< by model, over the sender's life
  std::vector<std::uint32_t> models;      ///< in the order of HELLO: the learner's numbers

  std::uint64_t last_sequence = 0, acknowledged = 0;
  /// The last sequence in the checkpoint that the learner was resumed from: never taken again.
  std::uint64_t kept_sequence = 0;
  bool heard_here = false;  ///< by this incarnation, not only known from that checkpoint
  /// Unacknowledged is what was handed on and is not acknowledged, by sequence.
  struct Unacknowledged {
    std::size_t bytes = 0;
    std::uint64_t session = 0;
  };
  std::map<std::uint64_t, Unacknowledged> unacknowledged;
  std::uint64_t bytes_granted = 0, bytes_received = 0, bytes_returned = 0;
  std::size_t reserve_bytes = 0;  ///< its largest trajectory
  std::size_t wanted_bytes = 0;   ///< all it could have outstanding
  bool totals_sent = true;        ///< it knows its totals
  bool queued = false;            ///< is in the list of those to be sent them
  std::uint64_t trajectories = 0, refused = 0;
  StalenessHistogram staleness;
  std::vector<PingTrouble> troubles;  ///< as it last said; `model` is an index into `models`

  /// Up to this one, all is in a batch or was refused.
  std::uint64_t acknowledged_through() const;
  bool gone() const { return health == Health::kGone; }
  bool live() const { return health == Health::kLive; }
  bool cut_off() const { return cut_off_ns >= 0; }
  std::uint64_t window() const { return bytes_granted - bytes_returned; }
  /// Its share of HELLO's `model`-th model; null when it named fewer.
  Share* ShareOf(std::uint32_t model);
  /// Its share of the learner's model of this number; null when it does not play it.
  Share* ShareOfModel(std::uint32_t number);
  int agents() const;
  std::uint64_t Steps(const Share& share) const;
  /// Adds its counts to those of `report`.
  void AddTo(ServerSession::ActorReport* report) const;
};

/// All senders by id, gone ones too.
using Senders = std::map<std::uint64_t, Sender>;

/// Gives out the lowest free number.
class AgentIndices {
 public:
  std::uint32_t Acquire();
  /// `index` itself when it is free, else the lowest.
  std::uint32_t Reacquire(std::uint32_t index);
  void Free(std::uint32_t index);
  /// `index` was given out in an earlier life of the learner, and is free.
  void Know(std::uint32_t index);

 private:
  std::vector<bool> used_;
  std::size_t first_free_ = 0;  ///< none below it is free
};

}  // namespace murmurate::wire
