// Ingest: the thread that owns ROUTER `main`: session, receive, verify, copy to its column.
//
//   socket --decode--> ServerSession --accept--> the assembling TrainingBatch of its model
//   full batch --> `ready` queue --> mmr-learn;  `empty` queue --> back;  trained on --> credit
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/experience/experience_channel.h"
#include "server/ingest/ingest_settings.h"
#include "server/session/server_session.h"
#include "shared/transport/socket.h"

namespace murmurate {

/// The daemon returns an OfferedModel when an actor first names a model.
struct OfferedModel : AssemblySettings {
  std::shared_ptr<ExperienceChannel> channel;
  std::string segment;      ///< shared memory, "" when off
  int lockstep_agents = 0;  ///< no lock-step credit before that many agents are here
  /// Experience of the current version only. A batch then closes when it is full, or when `quorum`
  /// of the live agents have given all they were asked for and the rest has been waited for
  /// quorum_wait_s longer; what comes after it under the same version is stale.
  bool current_only = false;
  double quorum_wait_s = 1.0;
  std::uint64_t lockstep_steps = UINT64_MAX;  ///< learned from, after which none is given
  /// Each trajectory that went into a batch; called on the polling thread, returns at once.
  std::function<void(const TrajectoryView&)> record = {};
  /// Of its actors' episodes, so many are to be evaluated; 0: none.
  double evaluation_share = 0.0;
  /// Episodes that actors played in any mode, when some were evaluated; called on the polling
  /// thread, returns at once.
  std::function<void(std::span<const EpisodeRecord>)> on_evaluated = {};
};
/// Makes it, which may take seconds, or says why not.
using OfferModel =
    std::function<Result<OfferedModel>(const std::string& name, const Spaces& spaces)>;

struct IngestOptions {
  std::vector<std::string>
      listen;  ///< main addresses, bound in order; the first is the family's base
  std::uint64_t incarnation = 0;
  std::uint64_t seed = 1;
  bool resumed = false;
  wire::ServerSession::Limits limits;
  bool shm = true;
  /// MakeModels is called on a thread of its own, so that other sessions go on meanwhile; false:
  /// PollOnce makes them.
  bool models_apart = false;
  /// Receives the rest of an accepted block: numbers the game reported (`evaluated`: in
  /// Mode(kEvaluate)), and its episodes when some were played in that mode. Called on the polling
  /// thread, returns at once.
  std::function<void(const std::string& model, std::span<const wire::ReportedNumber>,
                     bool evaluated)>
      on_reports;
  std::function<void(const std::string& model, std::span<const EpisodeRecord>)> on_evaluated;
  LogCallback log;
};

class Ingest {
 public:
  static Result<std::unique_ptr<Ingest>> Open(SocketContext& context, IngestOptions options,
                                              OfferModel offer);
  ~Ingest();

  /// One bounded round: wait up to `timeout_ms`, receive, verify, copy, grant, answer. Waits 20 ms
  /// at most while a sender is here or was heard lately, because time decides then, too.
  void PollOnce(int timeout_ms);
  void Wake();  ///< from any thread
  /// Makes the next model that a HELLO asked for; waits up to `timeout_ms` for one. On one thread,
  /// which may be another than PollOnce's.
  void MakeModels(int timeout_ms);
  /// MakeModels waits no more, and makes nothing that was not begun. Any thread.
  void StopMaking();
  /// A model that is there before its first actor, going on from what Save wrote. Before the first
  /// PollOnce.
  Status AddModel(const std::string& name, const OfferedModel& offered, const StateReader& reader);
  /// Saves what a checkpoint of a model needs of the actors when `batches` of those handed over (in
  /// this process) have been trained on, the last one just now. Any thread; waits for the round
  /// that runs.
  void Save(const std::string& model, std::uint64_t batches, const StateWriter& writer) const;
  /// A checkpoint with what Save wrote is on disk: senders are told. Any thread.
  void Commit(const std::string& model, const StateReader& reader);
  /// Lets nothing more begin in lock-step, so that the run ends between two versions. Any thread.
  void StopGranting();
  /// True when nothing is out: in lock-step all of a batch has been trained on; else true at once.
  bool AtBorder() const;
  /// True when any client plays in lock-step. Any thread.
  bool lockstep() const;

  /// GOAWAY to all; call from the polling thread's owner before the last PollOnce rounds.
  void SayGoaway(const wire::Goaway& goaway);

  /// Sends them to every client, now and when it comes; any thread, whatever it has locked. They go
  /// out before the credit for versions published after this call.
  void SetSettings(wire::Settings settings);

  std::vector<std::string> addresses() const;  ///< as really bound
  /// A consistent copy for status and metrics; any thread.
  struct Report {
    std::vector<wire::ServerSession::ActorReport> actors, forgotten_actors;
    std::vector<wire::ServerSession::RefusedActor> refused_actors;
    std::array<std::uint64_t, wire::kRefusalCount> refusals{};
    std::uint64_t duplicates = 0, messages = 0, bytes = 0;
    std::uint64_t lost_trajectories = 0;  ///< when the learner died before
    /// "model default waits for experience: 3 of 8 trajectories; actor a-2 silent for 4.1 s"
    std::vector<std::string> waiting;
  };
  Report CollectReport() const;

 private:
  struct State;
  explicit Ingest(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
