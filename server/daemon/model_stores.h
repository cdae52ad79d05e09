// ModelStores: what the experience stores of a model's learning threads keep on disk, beside its
// checkpoints: each in a folder of its own.
//
//   runs/NAME/replay                    the first learning thread's; of the run's first model
//   runs/NAME/replay.2                  the second one's (Hogwild)
//   runs/NAME/models/OTHER/replay       of another model
//
// A checkpoint is sealed on the thread that writes it: the learning thread waits for no disk.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/learn/learn_loop.h"

namespace murmurate {

class ModelStores {
 public:
  /// `loops`: the model's, which must stay as they are from the first call of another function on.
  ModelStores(std::string model, LogCallback log,
              const std::vector<std::unique_ptr<LearnLoop>>* loops)
      : model_(std::move(model)), log_(std::move(log)), loops_(*loops) {}

  /// Keeps them in folders of `directory`, the model's. kResource: one cannot be made.
  Status KeepIn(const std::string& directory, const ModelSpec& spec);
  /// What SaveStores saved; says what is missing.
  Status Load(const SavedState& state);
  /// Between two batches.
  void Save(SavedState* state) const;
  /// Says so when the disk of a store refuses what is played, and when that is over; after each
  /// PollOnce, on the learning thread.
  void CheckHealth(std::size_t loop);

  void Seal(SavedState* state) const;           ///< the thread that writes a checkpoint
  void Written(const SavedState& state) const;  ///< the same, when it is on the disk

  /// "model default: learner waits for experience: ..." (LearnLoop::Waiting), or "". Any thread.
  std::string Waiting() const;
  /// "model default: runs/NAME/replay/...: the replay cannot be written (...)". Any thread.
  std::vector<std::string> Troubles() const;

 private:
  const std::string model_;
  const LogCallback log_;
  const std::vector<std::unique_ptr<LearnLoop>>& loops_;
  mutable std::mutex mutex_;
  std::vector<std::string> troubles_;  ///< of each loop; "": none
};

}  // namespace murmurate
