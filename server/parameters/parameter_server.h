// ParameterServer: one shard of every model that workers bring, behind one ROUTER. `mmr-params`
// runs it; tests call PollOnce.
//
// One thread calls everything but Wake, PostKept and Views. A model is made by the first worker
// that joins with it, or resumed from what Save wrote. How a worker is reached is forgotten when it
// is silent and no longer reads in this shard's segment: should it come back it joins again, and
// the Shard, which cannot know that it will not, still knows its pushes. Nothing here writes files:
// every `save_every_ns`, and when asked, `on_save` gets a model's state to write; PostKept, from
// any thread, says that it is on disk.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/parameters/shard.h"
#include "shared/model/state.h"
#include "shared/transport/socket.h"

namespace murmurate {

struct ParameterServerOptions {
  std::function<ShardSettings(const std::string& model)> settings;
  int shard = 0, shards = 1;
  std::string address;
  std::int64_t save_every_ns = 0;  ///< 0: only when asked
  LogCallback log;
  /// Called at most every save_every_ns, when something was merged since.
  std::function<void(const std::string& model, const Shard& shard)> on_save;
  /// The first answers of a model wait until PostKept says that what it began with is on disk, for
  /// at most 2 s: a shard that was killed earlier would have nothing to which the pushes that it
  /// answered could be added again.
  bool answers_after_checkpoint = false;
  /// Called once, when the last worker of the last model has left (Shard::use); may be empty.
  std::function<void()> on_left = {};
};

/// ShardView is what a shard knows of a model.
struct ShardView {
  std::string model;
  std::uint64_t version = 0;  ///< merges
  int workers = 0;            ///< members
  std::string waits;          ///< which worker waits for which and why, or ""
  /// Since this shard was started, as Shard has them.
  std::uint64_t merges = 0, pushes = 0, merged = 0;
};

class ParameterServer {
 public:
  /// Binds. kAlreadyRunning: another process has the address, perhaps a shard of the same index.
  static Result<std::unique_ptr<ParameterServer>> Open(SocketContext& context,
                                                       ParameterServerOptions options);
  ~ParameterServer();

  /// To be called before the first PollOnce: restores a model as it was saved.
  Status Resume(const std::string& model, const std::string& spec, const SavedState& state);

  /// Waits at most `timeout_ms` for messages, deals with them, sends what is due.
  void PollOnce(int timeout_ms);
  void Wake();

  void PostKept(const std::string& model, std::shared_ptr<const SavedState> state);
  /// Saves every model that has something new.
  void SaveAll();

  std::string BoundAddress() const;
  /// Any thread: the models as they were at most 0.2 s ago.
  std::vector<ShardView> Views() const;
  /// "default: version 812, 3 workers"; which worker waits for which, on a line of its own.
  std::string Report() const;
  const Shard* Find(const std::string& model) const;

 private:
  struct State;
  explicit ParameterServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
