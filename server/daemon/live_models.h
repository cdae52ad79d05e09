// LiveModels: the models of a daemon, in the order they were made.
//
// mmr-make adds models, the main thread ends them after it; other threads only call what says so.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/daemon/live_model.h"

namespace murmurate {

class LiveModels {
 public:
  using List = std::vector<std::unique_ptr<LiveModel>>;

  const List& all() const { return models_; }
  bool Has(const std::string& name) const;
  /// Starts to learn (LiveModel::StartLearning) and adds the model; those of other threads wait
  /// until it is there.
  Status Add(std::unique_ptr<LiveModel> model, std::unique_ptr<Learner> learner,
             const SavedState* resumed, const std::string& store_directory,
             const RecordedPlay* play = nullptr);

  /// The numbers of sources that have some. Any thread.
  std::vector<Reading> Streams();
  /// What does not go as it should with what they keep on disk, a sentence each. Any thread.
  std::vector<std::string> Troubles();
  /// A checkpoint was tried in `folder` of the run in `directory`. Any thread.
  void OnTried(const std::string& directory, const std::string& folder, bool written,
               Checkpoint* checkpoint);

  /// ModelHooks::AskForCheckpoint and GoBack of the model `name`. Any thread.
  void AskForCheckpoint(const std::string& name);
  Result<std::uint64_t> GoBack(const std::string& name, std::shared_ptr<const Snapshot> to);
  /// The folder of its files, in the run's `directory`. Any thread.
  std::optional<std::string> FolderOf(const std::string& directory, const std::string& name) const;
  /// LiveModel::WatchBatches of all; the longest. Any thread.
  double WatchBatches();
  void AskForCheckpoints();  ///< ModelHooks::AskForCheckpoint of each; any thread
  /// What models that learn nothing at present say of it (ModelStores::Waiting). Any thread.
  std::vector<std::string> Waiting() const;
  void AskToEnd();
  void AwaitEnd(std::int64_t deadline_ns);
  /// Leaves the models of threads that were left behind where they are.
  void Abandon();
  void Clear() { models_.clear(); }
  /// A thread of this process was left inside a batch that takes too long.
  static bool left_a_thread() { return thread_left_; }

 private:
  mutable std::mutex mutex_;
  List models_;
  static std::atomic<bool> thread_left_;
};

}  // namespace murmurate
