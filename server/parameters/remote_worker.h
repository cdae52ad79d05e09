// RemoteWorker: the exchanges of one worker with all shards of a model, by an update rule
// (rule_settings.h). It works on the caller's memory: each call gets the parameters, in as many
// pieces as they lie in, and each time the same memory. RemoteStore (a learner) and ArrayWorker (a
// program of one's own) say when what is done.
//
// An exchange is begun, then finished when every shard has answered; what is sent is sent as it
// lies, from blocks that come back by themselves. One thread calls everything but Interrupt.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/parameters/answer_wait.h"
#include "server/parameters/float_parts.h"
#include "server/parameters/heartbeat.h"
#include "server/parameters/remote_settings.h"
#include "server/parameters/shard_piece.h"
#include "server/parameters/update_rule.h"
#include "server/parameters/worker_statistics.h"
#include "shared/core/random.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/transport/socket.h"

namespace murmurate {

/// ExchangeSums are sums over the exchanges since they were last taken.
struct ExchangeSums {
  std::uint64_t exchanges = 0, late = 0, answers = 0;
  double staleness = 0.0, staleness_max = 0.0, distance = 0.0;
};

class RemoteWorker {
 public:
  /// Connects; `spec` is the model's. A failure goes to `failed`.
  RemoteWorker(const RemoteSettings& settings, const std::string& model, const ModelSpec& spec,
               RemoteCallbacks callbacks);
  /// Says BYE to the shards.
  ~RemoteWorker();

  /// Pulls: the parameters become the center, or, where the model begins with this worker's, stay.
  /// Under the elastic rules those of a worker that has begun stay. False: not answered yet (call
  /// again), interrupted or refused.
  bool Pull(FloatParts<float> parameters);
  /// Copies the first gradient of a window into the blocks that are pushed; returns its norm.
  double CopyGradient(FloatParts<const float> gradient);
  /// Adds `scale` times a gradient to a window that has `before` gradients.
  void AddGradient(FloatParts<const float> gradient, float scale, int before);
  /// Pushes what `steps` gradients or local steps since the last exchange have come to. The one
  /// before must be finished. `taken_at`: the Versions that it was computed from; none: the newest.
  void Begin(double learning_rate, int steps, FloatParts<float> parameters,
             const std::vector<std::uint64_t>& taken_at = {});
  /// Finishes the exchange that is under way. False: as Pull.
  bool Finish(FloatParts<float> parameters);
  /// With settings.overlap, after Begin: what the caller steps until Finish is kept.
  void KeepLocalSteps(FloatParts<float> parameters);
  /// The versions that the parameters are of, one for each shard.
  std::vector<std::uint64_t> Versions() const;

  bool started() const { return started_; }
  bool under_way() const { return under_way_; }
  std::uint64_t pushes() const { return step_; }
  /// Pushes up to this one are in a checkpoint of every shard, as their last answers say.
  std::uint64_t Kept() const;
  /// Of the last exchange, over all shards.
  double elastic_norm() const { return elastic_norm_; }
  WorkerStatistics& statistics() { return statistics_; }
  AnswerWait& wait() { return wait_; }
  Heartbeat& heartbeat() { return heartbeat_; }
  ExchangeSums PopSums() { return std::exchange(sums_, {}); }

 private:
  Status Connect(const std::string& model, const ModelSpec& spec);
  /// Computes what is pushed to one shard; in gradient form `out` holds the window's sum.
  void Contribute(const ShardPiece& piece, int steps, FloatParts<float> parameters,
                  std::span<float> out) const;
  void ApplyAnswer(ShardPiece& piece, FloatParts<float> parameters);
  /// Waits until every shard has answered; false: not yet, interrupted or refused.
  bool Answered(FloatParts<float> parameters);
  std::shared_ptr<Block> Filled(ShardPiece& piece, FloatParts<float> parameters);

  const RemoteSettings settings_;
  const RuleSettings rule_;
  const RemoteCallbacks callbacks_;
  const std::size_t trained_;
  const std::uint64_t sender_ = RandomIdentity();
  SocketContext context_;
  std::vector<ShardPiece> pieces_;
  AlignedFloats pulled_;      ///< where WorkerKeepsPulled
  AlignedFloats local_then_;  ///< overlap: x_i when it pushed
  WorkerStatistics statistics_;
  bool started_ = false, under_way_ = false;
  std::uint64_t step_ = 0;
  double elastic_norm_ = 0.0;
  ExchangeSums sums_;
  AnswerWait wait_;
  Heartbeat heartbeat_;  ///< last: its thread ends first
};

}  // namespace murmurate
