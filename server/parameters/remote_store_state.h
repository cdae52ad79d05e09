// What a RemoteStore is made of; remote_store.cc has what the learner calls and how shards are
// reached, remote_exchange.cc the exchanges.
#pragma once

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "server/parameters/block_pool.h"
#include "server/parameters/remote_store.h"
#include "server/parameters/shard_link.h"
#include "server/parameters/update_rule.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// Of one shard.
struct RemoteStore::Piece {
  std::unique_ptr<ShardLink> link;
  BlockPool pool;
  std::shared_ptr<Block> window;        ///< gradient form: where they are summed
  std::shared_ptr<const Block> pushed;  ///< under way
  std::uint64_t version = 0;

  const PartRange& range() const { return link->options().range; }
  template <typename T>
  std::span<T> Of(std::span<T> trained) const {
    return trained.subspan(range().begin, range().count);
  }
};

struct RemoteStore::Sums {
  std::uint64_t exchanges = 0, late = 0, answers = 0, local_steps = 0, wasted = 0;
  double staleness = 0.0, staleness_max = 0.0, distance = 0.0, wait_s = 0.0;
};

struct RemoteStore::State {
  State(const RemoteSettings& given, const ModelSpec& spec, RemoteCallbacks given_callbacks)
      : settings(given),
        rule(given.shard.rule),
        layout(spec),
        callbacks(std::move(given_callbacks)),
        trained(layout.trained_count()),
        optimizer(MakeOptimizer(given.optimizer, StepsLocally(rule) ? trained : 0)) {}

  Status Connect(const std::string& model, const ModelSpec& spec);
  bool Start(std::span<float> parameters);
  void Exchange(double learning_rate, std::span<float> parameters);
  bool Finish(std::span<float> parameters);
  void Take(Piece& piece, std::span<float> parameters);
  /// The first gradient of a window, as it is, into the blocks that are pushed; returns its norm.
  double TakeUp(std::span<const float> gradient);
  bool Await(std::span<const float> parameters);
  bool PollLinks(std::span<const float> parameters);
  void Look(std::int64_t begin_ns) const;
  void Rest();
  bool Failed(const Piece& piece);
  void SaySilence(std::int64_t now_ns);
  std::shared_ptr<Block> Filled(Piece& piece, std::span<const float> parameters);
  void PutStatistics(Block* block, const Piece& piece) const;
  void TellAlive();
  void EndWait();

  const RemoteSettings settings;
  const RuleSettings rule;
  const ParameterLayout layout;
  const RemoteCallbacks callbacks;
  const std::size_t trained;
  const std::uint64_t sender = RandomIdentity();
  std::unique_ptr<Optimizer> optimizer;
  SocketContext context;
  WakeSignal signal, alive_signal;
  std::vector<Piece> pieces;
  AlignedFloats pulled;      ///< where WorkerKeepsPulled
  AlignedFloats local_then;  ///< overlap: x_i when it pushed
  AlignedFloats own;         ///< the whole block, of which the statistics count
  AlignedFloats seen;        ///< by all, as shard 0 said last
  bool started = false, loaded = false, under_way = false, failed = false, said_silent = false;
  bool waited_long = false;  ///< for experience: rounds went on without this worker
  int in_window = 0;
  double rate = 0.0;
  std::uint64_t step = 0, updates = 0;
  double elastic_norm = 0.0;
  Sums sums;
  bool looks_help = true;  ///< the last answer came soon enough to be looked for
  FutexWord interrupted{0};
  std::atomic<std::int64_t> waiting_since_ns{0};  ///< for experience; 0: it learns
  std::vector<Socket> alive_sockets;
  std::unique_ptr<Loop> alive;  ///< last: its thread uses the sockets above
};

}  // namespace murmurate
