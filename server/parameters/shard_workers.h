// ShardWorkers: what a shard knows of the workers that train its range: which are members and
// alive, and what each has pushed and is owed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "server/parameters/push_block_pool.h"
#include "server/parameters/shard.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

struct ShardWorker {
  /// A push of a round that is not complete.
  struct Pending {
    std::uint64_t step = 0, stamp = 0;
    float learning_rate = 0.0f;
    std::shared_ptr<Block> contribution;
  };

  std::uint32_t number = 0;
  std::uint64_t step = 0;    ///< of its last push that was dealt with
  std::uint64_t pulled = 0;  ///< version that it was last answered with
  std::uint64_t pushes = 0;  ///< for bounded staleness: a newcomer begins where the slowest is
  std::uint64_t kept = 0;
  bool member = false, waiting = false;
  bool came = false;              ///< joined since this shard was started
  bool left = false;              ///< said BYE, or another one has come with its number
  bool trained = false;           ///< before it joined: what it has is no beginning
  bool awaits_beginning = false;  ///< its pull waits for one that brings parameters
  std::int64_t heard_ns = 0;
  std::shared_ptr<const Block> pulled_center;  ///< where NeedsPulledCopy
  std::shared_ptr<const Block> elastic;        ///< where AnswerIsElastic: the last e
  AlignedFloats statistics;                    ///< shard 0: all that it has seen (SeenStatistics)
  std::unique_ptr<Pending> pending;
  std::optional<wire::Center> held;  ///< merged; its answer waits for the slowest
};

class ShardWorkers {
 public:
  /// Both must outlive this.
  ShardWorkers(const ShardSettings& settings, const LogCallback& log)
      : settings_(settings), log_(log) {}

  bool Contains(std::uint64_t id) const { return workers_.contains(id); }
  ShardWorker* Find(std::uint64_t id);  ///< null: not known
  const ShardWorker* Find(std::uint64_t id) const;
  ShardWorker& at(std::uint64_t id) { return workers_.at(id); }
  /// The workers by id.
  auto begin() { return workers_.begin(); }
  auto end() { return workers_.end(); }
  auto begin() const { return workers_.begin(); }
  auto end() const { return workers_.end(); }

  /// Makes a worker a member. `loaded`: the shard has what was pushed before it was started.
  ShardWorker& Join(std::uint64_t id, const wire::Join& join, bool loaded, std::int64_t now_ns);
  void Leave(ShardWorker& worker, LogLevel level, const char* why);
  /// Those that are silent for too long leave.
  void LeaveSilent(std::int64_t now_ns);
  /// `successor` has come with a worker's number. What that one had under way when it died is not
  /// waited for, or merged, any more. Returns those whose push was pending.
  std::vector<std::uint64_t> Succeed(std::uint64_t successor, std::uint32_t number);
  void Forget();

  int members() const;
  bool AnyLive(std::int64_t now_ns) const;
  /// Whether another worker has this number, and is live.
  bool IsTaken(std::uint32_t number, std::uint64_t id, std::int64_t now_ns) const;
  /// Whether the model may begin with this worker's parameters. Worker 0's, as long as it may still
  /// come, so that the model begins the same each time. Then those of one that every shard would
  /// choose, or the ranges would begin with different workers' numbers.
  bool MayBegin(const ShardWorker& worker, std::int64_t now_ns) const;
  /// How many expected workers never came; one that came and died since is not among them.
  int NeverCame() const;
  /// The time since the first JOIN of the model.
  std::int64_t SinceFirstJoin(std::int64_t now_ns) const;
  /// The fewest pushes of a member that does not wait for experience; UINT64_MAX: there is none.
  std::uint64_t Slowest() const;

  /// `observations`: how many floats of each worker's statistics are of observations.
  void Save(const StateWriter& writer, std::size_t observations) const;
  /// `statistics`: how many floats each worker's are. An older state has none of returns.
  Status Load(const StateReader& reader, std::size_t observations, std::size_t statistics);
  /// The state that Save wrote is on disk.
  void Kept(const StateReader& reader);

 private:
  bool IsLive(const ShardWorker& worker, std::int64_t now_ns) const {
    return worker.member && now_ns - worker.heard_ns < settings_.dead_after_ns;
  }

  const ShardSettings& settings_;
  const LogCallback& log_;
  std::map<std::uint64_t, ShardWorker> workers_;
  std::optional<std::int64_t> first_joined_ns_;  ///< of the model
};

}  // namespace murmurate
