// RemoteStore: a learner as a worker of a parameter server: local copy, local optimizer and window,
// and when there is an exchange with the shards (remote_worker.h) by an update rule
// (rule_settings.h).
//
//   Step     gradient -> clip -> window;  a local step where the rule has one
//            every T of them an exchange: the contribution to all shards at once, one round trip,
//            Adopt. What is sent is sent as it lies, from blocks that come back by themselves.
//   window = kWholeBatch: one exchange in EndBatch instead
//
// overlap: an exchange is begun and not waited for; the next one first takes its answer. So a
// worker alone is one exchange late. What it stepped meanwhile is kept: x_i <- x~ + (x_i - x_i when
// it pushed).
//
// A shard that does not answer is waited for (answer_wait.h); Interrupt ends that. A thread of its
// own tells the shards that this worker lives, and whether it waits for experience (heartbeat.h);
// to score a batch that is held out is work. A refusal is final: it goes to `failed`, and no batch
// begins any more.
//
// rate_factor: a worker's share in the learning. It multiplies the rate of the worker's local steps
// and the rate that comes with a push, which the shard's optimizer steps by: so a push of asgd
// moves the center by factor times what it would, for each optimizer. Of a round (sync, sagn) the
// factors weigh the gradients of its mean, and the step is that of the highest (merge_round.h).
//
// Clipping: the norm of this worker's whole gradient, before it enters the window; under sync and
// sagn with one shard that shard clips the average instead (ShardSettings::max_grad_norm).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/parameters/parameter_store.h"
#include "server/parameters/remote_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class RemoteStore : public ParameterStore {
 public:
  RemoteStore(const RemoteSettings& settings, const std::string& model, const ModelSpec& spec,
              RemoteCallbacks callbacks);
  ~RemoteStore() override;

  bool BeginBatch(std::span<float> parameters) override;
  double Step(double learning_rate, std::span<const float> gradient,
              std::span<float> parameters) override;
  std::span<float> ObservationsSeen(std::span<float> parameters) override;
  void ShareReturns(const Moments& own) override;
  std::optional<Moments> PopReturns() override;
  void EndBatch(std::span<float> parameters) override;
  void Refresh(std::span<float> parameters) override;
  void EndScoring() override;
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;
  std::uint64_t updates() const override;
  ExchangeReport CollectReport() override;
  void Interrupt() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
