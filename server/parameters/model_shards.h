// ModelShards: the Shards of all models that a parameter server has, with what of each is on disk and
// what is said of them. Which worker is reached how is not known here (parameter_server.h).
//
// One thread calls everything but PostKept and Views.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/parameters/parameter_server.h"
#include "server/parameters/shard.h"
#include "shared/model/state.h"

namespace murmurate {

class ModelShards {
 public:
  /// The options must outlive it.
  explicit ModelShards(const ParameterServerOptions* options) : options_(*options) {}

  /// The model's, which is made if there is none; kInvalidArgument: there are 64 already.
  Result<Shard*> Make(const std::string& model);
  /// Makes one as it was saved (ParameterServer::Resume).
  Status Resume(const std::string& model, const std::string& spec, const SavedState& state);
  Shard* Find(const std::string& model) const;  ///< null: there is none
  void Erase(const std::string& model) { models_.erase(model); }

  /// The answers that are due, of models whose first checkpoint is not awaited any more. Asks for
  /// that checkpoint where it is the first time.
  std::vector<Shard::Answer> PopAnswers();

  /// Ticks all, and saves those that are due.
  void Tick(std::int64_t now_ns);
  /// Saves the model's, or all, where something is new.
  void Save(const std::string& model, std::int64_t now_ns);
  void SaveAll(std::int64_t now_ns);

  /// The state is on disk (ParameterServer::PostKept).
  void PostKept(const std::string& model, std::shared_ptr<const SavedState> state);
  /// Tells the shards what was posted. True: the answers of a model waited for it.
  bool ReceiveKept();

  /// Logs which worker waits for which, calls on_left when it is time, and looks for Views.
  void Say(std::int64_t now_ns);
  void Look();
  std::vector<ShardView> Views() const;  ///< of the last Look

 private:
  struct Model {
    std::unique_ptr<Shard> shard;
    std::uint64_t saved_version = 0;
    int saved_members = 0;
    std::int64_t saved_ns = 0;
    bool may_answer = false;    ///< a checkpoint holds what it began with, or none is awaited
    std::int64_t began_ns = 0;  ///< 0: its first checkpoint is not asked for
  };

  bool AwaitsCheckpoint(const std::string& name, Model* model);
  void SaveNew(const std::string& name, Model* model, std::int64_t now_ns);
  void SayWaits(std::int64_t now_ns);
  void SayLeft(std::int64_t now_ns);

  const ParameterServerOptions& options_;
  std::map<std::string, Model> models_;
  std::int64_t waits_since_ns_ = 0;
  std::string waits_;
  bool said_left_ = false;
  mutable std::mutex mutex_;
  std::vector<std::pair<std::string, std::shared_ptr<const SavedState>>> kept_;
  std::vector<ShardView> views_;
};

}  // namespace murmurate
