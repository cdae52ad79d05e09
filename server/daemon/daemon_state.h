// What a Daemon is made of; daemon.cc puts it together and takes it apart, daemon_models.cc makes
// models, resumes them and hands out their checkpoints, daemon_streams.cc makes those of streams.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/config/model_settings.h"
#include "server/daemon/daemon.h"
#include "server/daemon/evaluating.h"
#include "server/daemon/experience_source.h"
#include "server/daemon/feeding.h"
#include "server/daemon/gate.h"
#include "server/daemon/live_numbers.h"
#include "server/daemon/make_checkpoint.h"
#include "server/daemon/resume_plan.h"
#include "server/daemon/shard_waits.h"
#include "server/daemon/training_update.h"
#include "server/ingest/ingest.h"
#include "server/learn/learn_loop.h"
#include "server/operate/operate_settings.h"
#include "server/operate/spare_state.h"
#include "server/stream/config_stream.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"
#include "shared/weights/publishing.h"

namespace murmurate {

/// What one model needs while the daemon lives.
struct LiveModel {
  explicit LiveModel(const CheckpointSettings& settings)
      : checkpoints(settings.every_steps, settings.every_s, MonotonicNs()) {}

  std::string name;
  std::shared_ptr<ExperienceChannel> channel;
  std::shared_ptr<LearnTurns> turns = std::make_shared<LearnTurns>();
  std::vector<std::unique_ptr<LearnLoop>> learning;  ///< one a learning thread, of one block
  /// Of any of them, the one of the highest version; inside the gate, as what follows.
  std::shared_ptr<const Snapshot> newest;
  /// `learned` includes the batch that made `newest`; `taken` is of when its learning began.
  StepCount steps;
  std::unique_ptr<Evaluating> evaluating;  ///< null where the learner has no such game
  Gate gate;  ///< of the learning threads' callbacks; shut when a last batch takes too long
  std::atomic<int> busy{0};  ///< learning threads that are not between two batches
  CheckpointTimes checkpoints;
  bool checkpoint_due = false;
  SpareState spare;
  std::unique_ptr<ExperienceSource> source;  ///< starts last of all
  std::unique_ptr<Recording> recording;      ///< of one that keeps what actors send
  std::vector<std::unique_ptr<Loop>> loops;  ///< last: their threads use all of the above
};

struct Daemon::State {
  State(const Config& given, DaemonOptions given_options, Signals* given_signals,
        RunDirectory given_directory)
      : config(given),
        options(std::move(given_options)),
        signals(given_signals),
        directory(std::move(given_directory)),
        display(options.display) {}

  Status Open();
  Status OpenSockets(const std::string& folder);
  Status OpenIngestAndPublishing(const IngestOptions& in);
  Status WriteFiles() const;
  void StartLoops();
  Result<OfferedModel> Offer(const std::string& name, const Spaces& spaces);
  Status FitToActors(const std::string& name, ModelSettings* settings) const;
  Result<OfferedModel> MakeModel(const std::string& name, const Spaces& spaces);
  Status MakeStreams();
  Status AddStream(LiveModel* model, const StreamSettings& stream, const SavedState* resumed);
  std::vector<Reading> Streams();
  Status AddSource(LiveModel* model, const ModelSettings& settings, const SavedState* resumed);
  Result<OfferedModel> TakeModel(const std::string& name, const ModelSettings& settings,
                                 std::unique_ptr<Learner> learner, StepCount steps,
                                 const SavedState* resumed = nullptr);
  Status Resume();
  Status ResumeModel(const ResumedModel& resumed);
  Status WriteRecord() const;
  Result<std::unique_ptr<Learner>> MakeLearner(const std::string& name,
                                               const ModelSettings& settings);
  std::unique_ptr<ParameterStore> MakeStore(const std::string& name, const ModelSettings& settings);
  Status StartLearning(LiveModel* model, std::unique_ptr<Learner> learner,
                       const SavedState* resumed);
  void Report(LiveModel* model, const LearnReport& report);
  LearnCallbacks CallbacksOf(LiveModel* model);
  void StartThreads(LiveModel* model);
  ActorsView Actors() const;
  Result<std::vector<std::string>> Listen(const std::string& folder);
  void FinishRound();
  void AskLearningToEnd();
  void AwaitBatch(const LiveModel& model, std::int64_t deadline_ns);
  void EndLearning(std::int64_t deadline_ns);
  void LeaveBusyModels();
  void SayGoodbye(const wire::Goaway& goaway, const std::function<bool()>& actors_gone);
  void PostCheckpoint(LiveModel* model);
  void PostUnlearned(LiveModel* model);
  std::unique_ptr<Evaluating> MakeEvaluating(const LiveModel& model);
  void PostEvaluation(const LiveModel& model, const Evaluation& evaluation,
                      const SettingsOfPlay::Values& settings,
                      std::shared_ptr<const Snapshot> snapshot);
  void TakeBack(const std::string& folder, bool written, Checkpoint* checkpoint);
  std::string WriteLastCheckpoints();

  const Config config;
  DaemonOptions options;
  Signals* const signals;
  RunDirectory directory;
  Display display;
  LogCallback log;
  const std::uint64_t incarnation = RandomIdentity();
  std::string admin_address;
  SocketContext context;
  std::unique_ptr<Ingest> ingest;
  std::unique_ptr<Publishing> publishing;
  std::unique_ptr<Operate> operate;
  std::optional<LiveNumbers> live;
  ShardWaits shard_waits;
  std::vector<std::string> addresses;
  std::mutex models_mutex;  ///< mmr-make adds models, the main thread ends them
  std::vector<std::unique_ptr<LiveModel>> models;
  std::unique_ptr<Loop> publish_loop, checkpoint_loop, operate_loop, ingest_loop, make_loop;
  std::string borrowed_folder;  ///< of a resumed run's earlier ipc addresses, removed at the end
  bool stopped = false;
  static std::atomic<bool> thread_left;  ///< inside a batch that takes too long
};

}  // namespace murmurate
