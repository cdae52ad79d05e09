// HostTrainer: trains on batches on the caller's thread (and settings.threads - 1 others): the
// algorithm's gradients, stepped where a ParameterStore says.
#pragma once

#include <memory>

#include "server/learn/batch_trainer.h"
#include "server/network/target_networks.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class HostTrainer : public BatchTrainer {
 public:
  /// `store`: where the parameters are stepped; null: here, by the optimizer of `settings`.
  /// Parameters are zeros until SetParameters.
  HostTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
              std::unique_ptr<ParameterStore> store = nullptr);

  std::optional<std::uint64_t> Open(std::uint64_t version, bool scores) override;
  void Fit(const AlgorithmSettings& settings) override;
  std::optional<Moments> PopReturns() override { return store_->PopReturns(); }
  void ShareReturns(const Moments& own) override { store_->ShareReturns(own); }
  void Begin(const TrainingBatch& batch, const BatchPlan& plan) override;
  bool Done() override { return true; }
  /// All of the work is done here.
  BatchSums Finish() override;

  std::span<const float> parameters() const override { return parameters_; }
  void SetParameters(std::span<const float> parameters) override;
  bool GoBack(std::span<const float> parameters) override;
  void Save(SavedState* state) const override;
  Status Load(const SavedState& state) override;
  std::unique_ptr<BatchTrainer> SharedReplica() override;
  void Interrupt() override { store_->Interrupt(); }

 private:
  std::span<float> trained() { return std::span(parameters_.data(), gradient_.size()); }
  void Train(BatchSums* sums);
  void ShortenStep();

  const ModelSpec spec_;
  AlgorithmSettings settings_;
  std::unique_ptr<Algorithm> algorithm_;
  const TargetNetworks targets_;
  AlignedFloats parameters_, gradient_;
  const std::unique_ptr<ParameterStore> store_;
  AlignedFloats before_;  ///< the step, where its length is limited
  std::uint64_t version_ = 0;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
};

}  // namespace murmurate
