// Shard: the center of one range of a model's parameters, and what it knows of the workers that
// train it. A state machine: no socket, no thread, the clock is given; ParameterServer
// (parameter_server.h) carries its messages.
//
//   worker                                       shard
//   JOIN {spec, rule, number}  --------------->  same model, same rule, same cut?
//   <---------------  JOINED {range, version, empty, the last push of this worker}
//   PUSH step 0 {parameters, when told it is empty}   worker 0's are the center
//   <---------------  CENTER
//   PUSH step s {contribution}  -------------->  Merge, or wait for the round (a barrier)
//   <---------------  CENTER {center, or e}      one round trip
//   ALIVE, twice a second, from a thread of its own
//
// Elastic: a worker is any learner that joins. One not heard of for `dead_after_ns` is no member
// any more: a barrier does not wait for it, nor for one that says it waits for experience. One that
// comes (again) joins and pulls. (worker, step, shard) identifies a push: one that comes twice is
// answered twice and merged once, also after this shard was started again from what Save wrote.
//
// Where several workers are expected the model begins with worker 0's parameters, so that a run
// with a barrier begins the same each time; the others' pulls wait for them, for `dead_after_ns`
// from the first JOIN; then those of the live worker with the lowest number do, so that several
// shards take the same one's. A model that no worker has trained, and whose workers are gone, gives
// way to the next JOIN's, also to one of the same spec: it may have been a typing error.
//
// A barrier (IsSynchronous) begins its first round, also that of a run that all had left, when
// `workers` have joined (or one that has pushed before: this shard was started again), or
// kAwaitsWorkersNs after the first JOIN, with a warning: one that died as it started must not hold
// up the others; each round merges
// the first N = members - backup pushes that carry its stamp (at least one). Bounded staleness:
// with max_staleness > 0 the answer to a worker that is more than so many pushes ahead of the
// slowest member is held back, and Waits() says for which.
//
// Statistics of observations and, with normalize_reward, of returns (shard 0): each worker sends
// all it has seen itself; the shard keeps the newest of each, also of workers that left, and
// answers with their sum by Chan's formula, in the order of their numbers. So a message that is
// lost or comes twice falsifies nothing. Those of a file to begin with count once: a worker whose
// parameters are not taken is told (CENTER's merged).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/parameters/merge_round.h"
#include "server/parameters/optimizer.h"
#include "server/parameters/push_block_pool.h"
#include "server/parameters/rule_settings.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"
#include "shared/wire/shard_messages.h"

namespace murmurate {

/// ShardSettings are what [parameters] says; the same for every shard and worker.
struct ShardSettings {
  RuleSettings rule;
  OptimizerSettings optimizer;  ///< the shard's
  double max_grad_norm = 0.0;   ///< sync, sagn: of the averaged gradient; 0: never
  int workers = 1;              ///< a barrier's first round waits for so many
  int backup = 0;
  int max_staleness = 0;  ///< pushes ahead of the slowest; 0: no bound
  /// Workers divide their rewards by one deviation of returns (SeenStatistics).
  bool normalize_reward = false;
  std::int64_t dead_after_ns = 3'000'000'000;

  /// The text that JOIN carries: equal texts train alike. The number of workers is not in it.
  std::string ToText() const;
  /// The floats of statistics that follow shard 0's range: of observations, then of returns.
  std::size_t StatisticsOf(const ParameterLayout& layout) const;
};

/// Part `index` of `of`: contiguous, whole cache lines, together exactly [0, trained).
struct PartRange {
  std::size_t begin = 0, count = 0;
};
PartRange RangeOf(std::size_t trained, int index, int of);

class Shard {
 public:
  /// The time in which a worker that fell silent may be resumed, and one that never came may still
  /// come, after all others have left (use()).
  static constexpr std::int64_t kAwaitsReturnNs = 60'000'000'000;
  /// A barrier's first round waits so long for `workers` to join, from the first JOIN. Files of
  /// some gigabytes are opened in less.
  static constexpr std::int64_t kAwaitsWorkersNs = 60'000'000'000;

  Shard(const ShardSettings& settings, int index, int of, LogCallback log);
  ~Shard();

  /// Answers a JOIN. kInvalidArgument: another model, rule or cut than this shard's;
  /// kAlreadyRunning: there is a live worker of this number.
  Result<wire::Joined> Join(std::uint64_t worker, const wire::Join& join, std::int64_t now_ns);

  /// `block`: as in the message. kUnavailable: the worker has to JOIN first; kInvalidArgument: the
  /// block has another size, or a number that cannot be merged (not finite, or so large that the
  /// center might not stay finite: kLargestFloat in apply.h); nothing has changed then.
  Status OnPush(std::uint64_t worker, const wire::Push& push, std::span<const float> block,
                std::int64_t now_ns);
  void OnAlive(std::uint64_t worker, bool waiting, std::int64_t now_ns);
  void OnBye(std::uint64_t worker, std::int64_t now_ns);
  /// Notices which workers are gone, and what can go on without them.
  void Tick(std::int64_t now_ns);

  /// An answer that has become due. `block` is never written again: it may be sent as it lies.
  struct Answer {
    std::uint64_t worker = 0;
    wire::Center center;
    std::shared_ptr<const Block> block;
  };
  std::vector<Answer> PopAnswers();

  /// From now on the blocks of answers lie in this segment, which others of this host can map, as
  /// long as it has free slots. `wakeup`: the number by which workers wake the shard. Fails where
  /// there is no room. To be called after a worker has joined.
  Result<std::shared_ptr<ShardSegment>> ShareAnswers(std::uint64_t wakeup);

  /// kUnused: nothing was merged since this shard was started, and it has no member: it waits for
  /// its first worker, or for one whose config was mistyped. kLeft: the last worker has left; those
  /// that said no BYE have been silent for kAwaitsReturnNs, and if fewer than `workers` came
  /// nothing has been heard for as long.
  enum class Use { kUnused, kUsed, kLeft };
  Use use(std::int64_t now_ns) const;

  /// Says which worker waits for which and why; "" when none does.
  std::string Waits() const;

  /// May be called at any time between two calls.
  void Save(SavedState* state) const;
  /// Restores what was saved; members have `dead_after_ns` to join again: a barrier waits for them.
  /// kInvalidData: of another model, rule or cut.
  Status Load(const SavedState& state, const std::string& spec);
  /// The state that Save gave is on disk: pushes up to there are said to be kept.
  void Kept(const SavedState& state);

  bool empty() const;               ///< no worker has brought parameters yet
  const std::string& spec() const;  ///< ModelSpec::ToText(); "" before the first JOIN
  std::uint64_t version() const;    ///< merges so far
  std::uint64_t merges() const;     ///< of them, those since this shard was started
  std::uint64_t pushes() const;     ///< contributions since then, none counted twice
  std::uint64_t merged() const;     ///< of them, those that are part of the center
  std::span<const float> center() const;
  PartRange range() const;
  std::size_t block_floats() const;  ///< the range's, and statistics behind them
  int members() const;
  bool IsMember(std::uint64_t worker) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
