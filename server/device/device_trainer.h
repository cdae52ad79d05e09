// DeviceTrainer: trains on batches on a device (server/compute/device/device.h), by on-policy losses
// and by labels. DeviceReplayTrainer is its counterpart for steps from a replay; device_trainers.h makes
// the one that an algorithm needs.
//
// Where the parameters are stepped here, nothing waits between Begin and Finish. Where a
// ParameterStore steps them (other learners do, too), they stay on the host: each update's gradient
// comes down, and the parameters go up again. Of a job of ranks whose devices reach each other the
// parameters are stepped here, by the mean of all gradients (device_rank_steps.h).
//
// After the device has failed (BatchTrainer::Health), also in the middle of a batch, parameters() are
// those that the last finished batch left. Save then gives, where a store has the optimizer, its state
// at that moment, so that both are one checkpoint: a copy of them is made before each batch. Where a
// device had the optimizer, Save gives one as at the beginning.
#pragma once

#include <memory>
#include <vector>

#include "server/compute/device/device.h"
#include "server/device/device_engine.h"
#include "server/device/device_rank_steps.h"
#include "server/learn/batch_trainer.h"

namespace murmurate {

class DeviceTrainer : public BatchTrainer {
 public:
  /// `store`: where the parameters are stepped; null: on the device, by the optimizer of
  /// `settings`, whose kind must have a loss form. Parameters are zeros until SetParameters. The
  /// status says what of memory is missing.
  static Result<std::unique_ptr<BatchTrainer>> Make(
      const ModelSpec& spec, const AlgorithmSettings& settings, std::shared_ptr<Device> device,
      std::unique_ptr<ParameterStore> store = nullptr);

  std::optional<std::uint64_t> Open(std::uint64_t version, bool scores) override;
  std::optional<Moments> PopReturns() override;
  void ShareReturns(const Moments& own) override;
  void Prefetch(const TrainingBatch& next) override {
    if (Works()) engine_->Prefetch(next);
  }
  void Fit(const AlgorithmSettings& settings) override;
  void Begin(const TrainingBatch& batch, const BatchPlan& plan) override;
  BatchSums Finish() override;
  Status Health() const override;
  std::string Progress() const override { return where_; }

  std::span<const float> parameters() const override;
  void SetParameters(std::span<const float> parameters) override;
  bool GoBack(std::span<const float> parameters) override;
  void Save(SavedState* state) const override;
  Status Load(const SavedState& state) override;
  void Interrupt() override;

 private:
  struct Kept {
    std::vector<float> parameters;
    SavedState state;
  };

  DeviceTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
                std::shared_ptr<Device> device, std::unique_ptr<ParameterStore> store);
  Status Start();
  /// Copies what the store is about to change.
  void Keep();
  /// Goes on without an engine: with what is kept on the host.
  void GiveUp(Status failure, Kept kept);
  bool Works() const { return failure_.ok() && device_->error().empty(); }
  /// Of a rank, after the store's first BeginBatch.
  void ChooseStepPlace();
  StepPlace place() const;
  bool steps_elsewhere() const { return place() == StepPlace::kElsewhere && !plan_->scores; }
  bool steps_with_ranks() const { return place() == StepPlace::kRanks && !plan_->scores; }
  /// The batch that Begin was given.
  void Train(BatchSums* sums);
  void StepElsewhere(BatchSums* sums);
  void FinishElsewhere(BatchSums* sums);

  const ModelSpec spec_;
  AlgorithmSettings settings_;
  const std::shared_ptr<Device> device_;
  const std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<DeviceRankSteps> ranks_;  ///< null: no rank, or one that the store steps
  const std::string where_;                 ///< "on NVIDIA H200"
  std::unique_ptr<DeviceEngine> engine_;
  Status failure_;  ///< why there is no engine any more
  /// What the last finished batch left, where there is no engine, or a store steps the next one.
  Kept kept_;
  std::uint64_t version_ = 0;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
};

}  // namespace murmurate
