// DeviceReplayTrainer: trains on steps from a replay on a device (device_replay_engine.h). A batch
// that a replay gave makes the plan's updates; of one that is new, the error of each planned row is
// found where steps are drawn by them (first priorities), and its observations are counted here, on
// the host. Where the replay's rows are on the device (ReplaySettings::memory), a new batch's are not
// there yet: the replay gives them the largest priority so far, as Schaul et al. 2016 do.
//
// Nothing waits between Begin and Finish unless the plan has more updates than go to the device at
// once (ReplaySettings::most_updates). After the device has failed, parameters() and what the
// algorithm carries are those that the last finished batch left; the optimizer's state, which only
// the device had, is one as at the beginning.
#pragma once

#include <memory>
#include <vector>

#include "server/compute/device/device.h"
#include "server/device/device_replay_engine.h"
#include "server/learn/batch_trainer.h"

namespace murmurate {

class DeviceReplayTrainer : public BatchTrainer {
 public:
  /// Spec and settings have passed CheckDeviceTrains. Parameters are zeros until SetParameters. The
  /// status says what of memory is missing.
  static Result<std::unique_ptr<BatchTrainer>> Make(const ModelSpec& spec,
                                                    const AlgorithmSettings& settings,
                                                    std::shared_ptr<Device> device);

  std::optional<std::uint64_t> Open(std::uint64_t version, bool /*scores*/) override {
    return version_ = version;
  }
  void Fit(const AlgorithmSettings& /*settings*/) override {}  ///< it takes batches of any shape
  void Begin(const TrainingBatch& batch, const BatchPlan& plan) override;
  BatchSums Finish() override;
  Status Health() const override;
  std::string Progress() const override { return where_; }
  bool copies_kept_rows() const override { return engine_->passes().sent().by_name(); }

  std::span<const float> parameters() const override;
  void SetParameters(std::span<const float> parameters) override;
  bool GoBack(std::span<const float> parameters) override;
  void Save(SavedState* state) const override;
  Status Load(const SavedState& state) override;

 private:
  DeviceReplayTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
                      std::shared_ptr<Device> device);
  bool Works() const { return device_->error().empty(); }
  bool learns() const { return !plan_->updates.empty(); }
  std::size_t PassesOfPlan() const;
  std::span<const std::int32_t> RowsOf(std::size_t pass) const;
  void BeginRound();
  void FinishRound();
  void CountNewRows();

  const ModelSpec spec_;
  const bool prioritizes_;
  const std::shared_ptr<Device> device_;
  const std::string where_;  ///< "on NVIDIA H200"
  const std::unique_ptr<DeviceReplayEngine> engine_;
  std::uint64_t version_ = 0;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  std::size_t passes_ = 0;            ///< of the present batch
  std::size_t begun_ = 0, done_ = 0;  ///< of them
  Random random_{0};                  ///< of a new batch's errors
  std::vector<float> answers_;
};

}  // namespace murmurate
