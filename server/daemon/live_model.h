// LiveModel: one model while the daemon lives: where its experience comes from, the threads that
// learn from it, and what they report: snapshots, updates, checkpoints, evaluations.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "server/config/model_settings.h"
#include "server/daemon/checkpoint_turn.h"
#include "server/daemon/collapse_guard.h"
#include "server/daemon/experience_source.h"
#include "server/daemon/feeding.h"
#include "server/daemon/gate.h"
#include "server/daemon/model_evaluations.h"
#include "server/daemon/model_hooks.h"
#include "server/daemon/model_stores.h"
#include "server/daemon/run_parts.h"
#include "server/learn/learn_loop.h"
#include "server/operate/spare_state.h"
#include "shared/core/loop.h"

namespace murmurate {

class LiveModel {
 public:
  /// `number`: of the models of the run, in the order they are made. `steps`: of the checkpoint
  /// that it goes on from. `memory`: where its batches lie, null: in plain memory. The parts must
  /// outlive this.
  LiveModel(RunParts* parts, const std::string& name, const ModelSettings& settings,
            const StepCount& steps, std::size_t number,
            std::shared_ptr<BatchMemory> memory = nullptr);

  const std::string& name() const { return name_; }
  const std::shared_ptr<ExperienceChannel>& channel() const { return channel_; }
  ExperienceSource& source() { return *source_; }
  void SetSource(std::unique_ptr<ExperienceSource> source);
  /// Keeps what actors send; null: it does not.
  void SetRecording(std::unique_ptr<Recording> recording) { recording_ = std::move(recording); }
  Recording* recording() { return recording_.get(); }
  ModelEvaluations& evaluations() { return evaluations_; }
  const ModelStores& stores() const { return stores_; }
  ModelHooks& hooks() { return hooks_; }

  /// Makes its learning threads, after its source and recording are set, and starts them; those of
  /// a model that is resumed StartThreads does. `directory`: where its stores keep what is too large
  /// for a checkpoint; "": they do not. `play`: recorded play that it learns from beside its source;
  /// null: there is none.
  Status StartLearning(std::unique_ptr<Learner> learner, const SavedState* resumed,
                       const std::string& directory, const RecordedPlay* play);
  /// Starts the learning threads of a model that is resumed, when all of the run is: they may have
  /// something to learn from at once, and post a checkpoint of it.
  void StartThreads();
  /// Posts one more checkpoint; at a batch border on a learning thread, or after all of them have
  /// ended.
  void PostCheckpoint();
  /// Notes on the writing thread that a checkpoint was `written`, or could not be.
  void OnTried(const std::string& folder, bool written, Checkpoint* checkpoint);
  /// Its learning threads end after the batches that are in training.
  void AskToEnd();
  /// Waits for them until `deadline_ns`; false: they are left behind, with what they learn.
  bool AwaitEnd(std::int64_t deadline_ns);
  /// A learning thread that was left behind still uses it.
  bool left_behind() const { return gate_.shut(); }
  /// Says that a batch takes too long, each time that it is due (LearnLoop::LateBatch). Gives the
  /// seconds that the longest batch under way has taken so far; 0: none is.
  double WatchBatches();

 private:
  LearnCallbacks Callbacks();
  void OnSnapshot(std::shared_ptr<const Snapshot> snapshot);
  void Report(const LearnReport& report);

  RunParts& parts_;
  const std::string name_;
  const std::size_t number_;
  std::shared_ptr<ExperienceChannel> channel_;
  std::shared_ptr<LearnTurns> turns_;
  std::vector<std::unique_ptr<LearnLoop>> learning_;  ///< one a learning thread, of one block
  ModelStores stores_;
  /// The snapshot of the highest version of all loops; inside the gate, as what follows.
  std::shared_ptr<const Snapshot> newest_;
  /// `learned` includes the batch that made `newest_`; `taken` is of when its learning began.
  StepCount steps_;
  ModelEvaluations evaluations_;
  std::unique_ptr<CollapseGuard> guard_;  ///< null: nothing is watched for; inside the gate
  Gate gate_;  ///< of the learning threads' callbacks; shut when a last batch takes too long
  struct {
    std::atomic<int> busy{0};         ///< that are not between two batches
    std::atomic<bool> ending{false};  ///< none shall rest any more
  } threads_;                         ///< the learning threads
  CheckpointTurn checkpoints_;
  ModelHooks hooks_;
  SpareState spare_;
  std::unique_ptr<ExperienceSource> source_;  ///< starts last of all
  std::unique_ptr<Recording> recording_;
  std::vector<std::unique_ptr<Loop>> loops_;  ///< last: their threads use all of the above
};

}  // namespace murmurate
