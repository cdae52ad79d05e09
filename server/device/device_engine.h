// DeviceEngine: trains a model on a device, for batches of one shape: everything that server/learn's
// HostTrainer does with a batch, enqueued without waiting for any of it.
//
//   BeginBatch   batch and plan -> device; values, returns and advantages of all rows
//   Step         one update: gather, forward, loss, backward, norm, clip, optimizer
//   Gradient     the same without the optimizer, where parameters are stepped elsewhere
//   EndBatch     observation statistics; parameters and sums -> host
//
// Each of prepare pass, update and score is recorded once and replayed (recorded_step.h): what
// changes from one to the next is read from the control block and the lists of passes.
#pragma once

#include <memory>
#include <span>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/batch_passes.h"
#include "server/device/device_batch.h"
#include "server/device/device_inputs.h"
#include "server/device/device_loss.h"
#include "server/device/device_network.h"
#include "server/device/device_observation_statistics.h"
#include "server/device/device_optimizer.h"
#include "server/device/device_plan.h"
#include "server/device/device_returns.h"
#include "server/device/gathered_rows.h"
#include "server/device/recorded_step.h"
#include "server/learn/algorithm.h"
#include "shared/model/state.h"

namespace murmurate {

class DeviceEngine {
 public:
  /// Plans memory; settings.kind must have a loss form. `steps_here`: the optimizer is here.
  DeviceEngine(const ModelSpec& spec, const AlgorithmSettings& settings, bool steps_here);
  ~DeviceEngine();

  const DeviceMemory& memory() const { return memory_; }
  const ParameterLayout& layout() const { return network_.layout(); }

  /// Allocates what was planned; once, before what follows. The device must outlive it.
  Status Start(Device* device);

  /// The whole block on the host, as the caller or the last batch that was adopted left it.
  std::span<float> parameters() const { return HostBlock(current_); }
  void UploadParameters();
  void ForgetOptimizer();
  void SaveOptimizer(const StateWriter& writer);
  /// The same of an optimizer as it was made; asks nothing of the device.
  void SaveFirst(const StateWriter& writer) const;
  Status LoadOptimizer(const StateReader& reader);

  void Prefetch(const TrainingBatch& next) { batch_.Prefetch(device_, next); }
  void ForgetPrefetched() { batch_.Forget(); }
  void BeginBatch(const TrainingBatch& batch, const BatchPlan& plan);
  int updates() const { return passes_.updates(); }
  void Step() { step_.Run(device_); }
  /// `gradient`, on the host, is valid after Await.
  void Gradient();
  std::span<float> gradient() const;
  /// Counts a gradient() and its norms, as the optimizer does where it is here.
  void AddNorms(AlgorithmSums* sums) const;
  void Score() { score_.Run(device_); }
  /// `counts`: the statistics count the batch's observations here.
  void EndBatch(bool counts);
  bool Done() { return device_->Reached(done_); }
  void Await() { device_->Await(done_); }
  /// After EndBatch and Await, unless the device has failed: parameters() are the batch's.
  void AdoptParameters() { current_ = 1 - current_; }
  /// The sums of the batch, after Await.
  const TrainingControl& result() const { return plan_.host(); }

 private:
  void EnqueuePrepare();
  void EnqueueSeen(const PassShape& shape);
  void EnqueueForward();
  void EnqueueLoss();
  void EnqueueGradient();
  void EnqueueMeasure();
  void DownloadControl();
  const float* log_deviations() const;
  DeviceSeenRows Seen(const PassShape& shape) const;
  std::span<float> HostBlock(int block) const;
  std::span<float> HostState() const;

  const AlgorithmSettings settings_;
  const bool of_policy_, shared_value_;
  DeviceMemory memory_;
  BatchPasses passes_;
  DevicePlanRoom plan_;
  DeviceArray<float> parameters_, gradient_, log_prob_, deviation_;
  DeviceInputs inputs_;
  DeviceNetwork network_;
  GatheredRows rows_;
  DeviceBatch batch_;
  const std::unique_ptr<DeviceLoss> loss_;
  const std::unique_ptr<DeviceReturns> returns_;      ///< null: labels
  const std::unique_ptr<DeviceOptimizer> optimizer_;  ///< null: stepped elsewhere
  const std::unique_ptr<DeviceObservationStatistics> statistics_;
  const std::size_t value_at_;      ///< the first of the value's own parameters
  const std::size_t deviation_at_;  ///< of the free log deviations in parameters and gradient
  RecordedStep prepare_, step_, only_gradient_, score_, measure_;
  Device* device_ = nullptr;
  /// Two blocks of parameters, the current ones and those that come; gradient or optimizer's state.
  std::unique_ptr<PinnedBlock> host_;
  int current_ = 0;
  const TrainingBatch* training_ = nullptr;  ///< the present batch
  DeviceEvent done_ = -1;
};

}  // namespace murmurate
