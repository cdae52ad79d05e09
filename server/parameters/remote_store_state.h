// The state of a RemoteStore: the blocks of its exchanges and where each stands.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/parameters/answer_wait.h"
#include "server/parameters/heartbeat.h"
#include "server/parameters/remote_store.h"
#include "server/parameters/shard_piece.h"
#include "server/parameters/update_rule.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

struct RemoteStore::Sums {
  std::uint64_t exchanges = 0, late = 0, answers = 0, local_steps = 0, wasted = 0;
  double staleness = 0.0, staleness_max = 0.0, distance = 0.0;
};

struct RemoteStore::State {
  State(const RemoteSettings& given, const ModelSpec& spec, RemoteCallbacks given_callbacks)
      : settings(given),
        rule(given.shard.rule),
        layout(spec),
        callbacks(std::move(given_callbacks)),
        trained(layout.trained_count()),
        optimizer(MakeOptimizer(given.optimizer, layout, {0, StepsLocally(rule) ? trained : 0})),
        wait(callbacks),
        heartbeat(sender) {}

  Status Connect(const std::string& model, const ModelSpec& spec);
  bool Start(std::span<float> parameters);
  void Exchange(double learning_rate, std::span<float> parameters);
  bool Finish(std::span<float> parameters);
  void ApplyAnswer(ShardPiece& piece, std::span<float> parameters);
  /// Copies the first gradient of a window into the blocks that are pushed; returns its norm.
  double CopyGradient(std::span<const float> gradient);
  /// Waits until every shard has answered; false: interrupted or refused.
  bool Answered(std::span<const float> parameters);
  std::shared_ptr<Block> Filled(ShardPiece& piece, std::span<const float> parameters);
  void PutStatistics(Block* block, const ShardPiece& piece) const;
  void TakeStatistics(const ShardPiece& piece);

  const RemoteSettings settings;
  const RuleSettings rule;
  const ParameterLayout layout;
  const RemoteCallbacks callbacks;
  const std::size_t trained;
  const std::uint64_t sender = RandomIdentity();
  std::unique_ptr<Optimizer> optimizer;
  SocketContext context;
  std::vector<ShardPiece> pieces;
  AlignedFloats pulled;                ///< where WorkerKeepsPulled
  AlignedFloats local_then;            ///< overlap: x_i when it pushed
  AlignedFloats own;                   ///< the whole block, of which the statistics count
  AlignedFloats seen;                  ///< by all, as shard 0 said last
  Moments own_returns;                 ///< seen here
  std::optional<Moments> all_returns;  ///< as shard 0 said, since PopReturns
  bool started = false, loaded = false, under_way = false;
  int in_window = 0;
  double rate = 0.0;
  std::uint64_t step = 0, updates = 0;
  double elastic_norm = 0.0;
  Sums sums;
  AnswerWait wait;
  Heartbeat heartbeat;  ///< last: its thread ends first
};

}  // namespace murmurate
