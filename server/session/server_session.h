// ServerSession: the learner's half of the protocol for all its peers, as a pure state machine with
// an injected clock. It decides who is registered, what is in order, and who may send how much; its
// owner (server/ingest) holds the sockets, the models and the batches.
//
// Credit. A sender needs both units. Bytes bound memory: one budget; every sender gets a
// reserve of one trajectory, the rest is shared; bytes return when the block is acknowledged.
// Steps bound learning: each model states how many trajectories may be outstanding (granted and
// not yet returned by ReleaseTrajectories); grants go one trajectory at a time to the live sender
// with the fewest outstanding per agent, and beyond that number where agents could otherwise wait
// for each other (credit_pool.h). What a stalled or gone sender holds is taken back; what it sends
// later is still accepted while bytes allow, and staleness rules decide its worth.
//
// A model whose algorithm takes experience of the current version only (current_only) is granted
// one batch a version, divided over its live agents, to be played under that version (at_version).
// What a stalled or idle sender has not played is given to the others meanwhile; a batch that its
// owner closes early (CloseBatch) leaves the rest of it as part of the next one.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/metrics/actor_report.h"
#include "shared/model/state.h"
#include "shared/wire/messages.h"

namespace murmurate::wire {

/// SessionModel is what the session knows of one model.
struct SessionModel {
  std::uint32_t features = 0;   ///< that a client must know to play it: Feature
  HelloOkModel welcome;         ///< all but version, agent_*, steps_total: filled per sender
  std::size_t block_bytes = 0;  ///< one trajectory on the wire at most
  int outstanding_limit = 0;    ///< trajectories granted at once over all senders (two batches);
                                ///< with a lock-step client in the room: batch_trajectories
  int batch_trajectories = 0;
  int lockstep_agents = 0;  ///< no lock-step credit before that many agents are here
  /// Experience of the current version only: whatever the pace, credit is for one batch under one
  /// version, and for the next one when that has been trained on.
  bool current_only = false;
  /// No lock-step credit once so many steps were learned from: a run ends where it is told to.
  std::uint64_t lockstep_steps = UINT64_MAX;
};

/// SessionBatch is what the session knows of a model's batches.
struct SessionBatch {
  int trajectory_length = 0, batch_trajectories = 0;
  int outstanding_limit = 0;  ///< SessionModel's
};

class ServerSession {
 public:
  struct Limits {
    std::uint64_t ingest_budget_bytes = 256u << 20;
    int max_actors = 4096;
    std::size_t max_agents = 1u << 20;  ///< of all actors together
    std::uint32_t heartbeat_ms = 1000;
    std::int64_t stalled_after_ns = 3'000'000'000;  ///< nothing heard: credit taken back
    std::int64_t idle_after_ns = 10'000'000'000;    ///< no step played: credit counts no more
    std::int64_t gone_after_ns = 30'000'000'000;    ///< forgotten
    int rejects_per_minute = 20;                    ///< then muted (ignored) for 60 s
  };
  struct Reply {
    std::string peer;
    Body body;
    std::uint64_t sequence = 0;
  };
  /// A Verdict is the result of an EXPERIENCE. `accept`: hand the block on, then call Acknowledge.
  struct Verdict {
    bool accept = false;
    bool duplicate = false;
    std::uint32_t model = 0;        ///< index into the models added
    std::uint32_t agent_index = 0;  ///< learner-wide
  };
  /// Looks a model up for a HELLO, having it made if the learner takes new ones: the index for
  /// AddModel's order, or the sentence for the refusal. kBeingMade: nothing is answered yet; the
  /// HELLO is to be given to OnMessage again when the model is there or cannot be.
  class Models {
   public:
    static constexpr std::uint32_t kBeingMade = ~0u;
    virtual ~Models() = default;
    virtual Result<std::uint32_t> Lookup(const std::string& name, const std::string& spaces) = 0;
  };

  ServerSession(std::uint64_t incarnation, bool resumed, std::uint64_t seed, Limits limits);

  ~ServerSession();

  std::uint32_t AddModel(SessionModel model);
  /// Where versions are announced and fetched. `host_identity`: HostIdentity() of this machine:
  /// others are not told of shared memory. 0 (not said): all are.
  void SetAddresses(std::string announce, std::string weights, std::uint64_t host_identity);

  /// Handles any decoded message but EXPERIENCE.
  void OnMessage(const std::string& peer, const Decoded& message, Models& models,
                 std::int64_t now_ns);
  /// Session state, credit, sequence of an EXPERIENCE; refusals are queued as replies.
  Verdict OnExperience(const std::string& peer, const Decoded& message, std::int64_t now_ns);
  /// The block was copied (`refused` kNone) or refused for what is in it: bytes and sequence go
  /// back.
  void Acknowledge(const std::string& peer, const Decoded& message, Refusal refused,
                   std::string sentence, std::int64_t now_ns);
  void OnUndecodable(const std::string& peer, const DecodeFailure& failure, std::int64_t now_ns);
  /// `count` trajectories of `model` have left the pool (their batch was trained on, or they were
  /// refused): that much may be granted again. `version`: newest published.
  void ReleaseTrajectories(std::uint32_t model, int count, std::uint64_t version,
                           std::int64_t now_ns);
  void SetVersion(std::uint32_t model, std::uint64_t version);
  /// Sets the steps that the model has learned from, which SessionModel::lockstep_steps limits;
  /// before the ReleaseTrajectories of the batch that they were in.
  void SetLearned(std::uint32_t model, std::uint64_t steps);
  /// Sends a revision's settings to all senders, now and in every later welcome, until the next.
  void SetSettings(Settings settings);
  /// Changes T, no longer than the model was added with, and what depends on the batch, for what
  /// begins from now on: everyone who plays the model is told by a HELLO_OK.
  void SetBatch(std::uint32_t model, const SessionBatch& batch);
  /// The batch being played was handed over short: nothing is granted until it has been released.
  void CloseBatch(std::uint32_t model);
  void OnTick(std::int64_t now_ns);
  /// Grants nothing from now on: what is out comes to an end.
  void StopGranting();
  /// Whether, in lock-step, nothing is out or waits to be trained on: the next batch has not begun.
  bool AtBorder(std::uint32_t model) const;
  /// Sends GOAWAY to all senders.
  void SayGoaway(const Goaway& goaway);
  /// A peer could not be reached (the ROUTER does not know it): it is given nothing more, and what
  /// it sent before is still taken; it has left with its BYE, or when nothing has come for 1 s.
  void OnUnreachable(const std::string& peer, std::int64_t now_ns);
  /// A stuck peer, which is there and does not read what it is sent: its session is over, and the
  /// next message of it is answered with the request to say HELLO again.
  void OnStuck(const std::string& peer, std::int64_t now_ns);

  /// Everything to be sent since the last call, in order.
  std::vector<Reply> PopReplies();

  /// A Position sums what one sender has given to one model, up to some moment.
  struct Position {
    std::uint64_t sender = 0, sequence = 0, trajectories = 0, steps = 0;
  };
  /// The present positions of all senders that play `model` or have: everything acknowledged lies
  /// in batches. Overwrites `positions`, allocating only what it lacks.
  void CopyPositions(std::uint32_t model, std::vector<Position>* positions) const;
  /// Counters, turns and who is who (senders, the indices of their agents), with `positions` for
  /// what they have given, for a checkpoint of `model`.
  void Save(std::uint32_t model, std::span<const Position> positions,
            const StateWriter& writer) const;
  /// Right after AddModel: goes on from what was saved. What was given before is never taken again.
  Status Load(std::uint32_t model, const StateReader& reader);
  /// The positions in what Save wrote.
  static Result<std::vector<Position>> ReadPositions(const StateReader& reader);
  /// A checkpoint with these positions is on disk: COMMITTED to every sender in them that is here.
  void Commit(std::uint32_t model, std::span<const Position> positions);
  /// Trajectories sent to the learner before this one and in no checkpoint, as those who came back
  /// say.
  std::uint64_t lost_trajectories() const;

  using TroubleReport = murmurate::TroubleReport;
  using ActorReport = murmurate::ActorReport;
  using RefusedActor = murmurate::RefusedActor;
  /// `forgotten`, where given, becomes the counts of those that are not among these any more, one a
  /// name; of further names than 256 together, without a name. When they were heard is not known
  /// (INT64_MAX).
  std::vector<ActorReport> Actors(std::int64_t now_ns,
                                  std::vector<ActorReport>* forgotten = nullptr) const;
  /// Those of the last half minute, at most 16.
  std::vector<RefusedActor> RefusedActors(std::int64_t now_ns) const;
  const std::array<std::uint64_t, kRefusalCount>& refusals() const;
  std::uint64_t duplicates() const;
  /// Environment steps taken by all actors ever, by their own count (dropped ones included).
  std::uint64_t EnvironmentSteps(std::uint32_t model) const;
  std::uint64_t DroppedSteps(std::uint32_t model) const;
  int live_agents(std::uint32_t model) const;
  /// The live agents that have played all that they were granted.
  int finished_agents(std::uint32_t model) const;
  /// A trajectory of this sender was so old when its batch was begun.
  void CountStaleness(std::uint64_t sender, std::uint64_t versions);
  /// Waits are sums over all actors of `model`, as they report them.
  struct Waits {
    std::uint64_t waited_ns = 0, played_ns = 0;
  };
  Waits ActorWaits(std::uint32_t model) const;
  bool any_lockstep() const;
  /// A sender that is not gone, so that OnTick may find something.
  bool any_here() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate::wire
