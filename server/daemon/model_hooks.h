// ModelHooks: what the hooks of a run are told of one model, and what they ask of it. Of a run that
// has no hooks it does nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/daemon/checkpoint_turn.h"
#include "server/daemon/run_parts.h"
#include "server/learn/learn_loop.h"

namespace murmurate {

class ModelHooks {
 public:
  /// `alone`: no other learner steps its parameters. The parts and `turn` must outlive this.
  ModelHooks(RunParts* parts, std::string model, bool alone, CheckpointTurn* turn)
      : parts_(*parts), model_(std::move(model)), alone_(alone), turn_(turn) {}

  // ---- The learning threads, one at a time ----

  /// Before the threads: its first loop, and the weights that this life of the run begins with.
  void Begin(LearnLoop* loop, std::shared_ptr<const Snapshot> first);
  bool wants(HookMoment moment) const { return parts_.hooks && parts_.hooks->wants(moment); }
  /// A hook holds learning up.
  bool Hold() const { return parts_.hooks && parts_.hooks->Hold(); }
  /// kBeforeBatch or kNewVersion, by way of mmr-operate, so that it comes before what is posted there
  /// later.
  void Tell(HookMoment moment, std::uint64_t version, const StepCount& steps);

  // ---- Any thread ----

  /// A checkpoint was tried.
  void OnTried(const std::string& folder, bool written, const Checkpoint& checkpoint);
  /// One more checkpoint is due after the batch under way or the next one; of a paused run at once.
  void AskForCheckpoint() {
    turn_->Ask();
    parts_.pause->Wake();
  }
  /// The model goes back to these parameters, null: those that this life began with, from the next
  /// batch on. The newest version as it is posted. kInvalidArgument: it cannot.
  Result<std::uint64_t> GoBack(std::shared_ptr<const Snapshot> to);

 private:
  RunParts& parts_;
  const std::string model_;
  const bool alone_;
  CheckpointTurn* const turn_;
  LearnLoop* loop_ = nullptr;
  std::shared_ptr<const Snapshot> first_;
  std::atomic<std::uint64_t> version_{0};
};

}  // namespace murmurate
