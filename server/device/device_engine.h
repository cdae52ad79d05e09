// DeviceEngine: trains a model on a device, for batches of one shape: everything that server/learn's
// HostTrainer does with a batch, enqueued without waiting for any of it.
//
//   BeginBatch   batch and plan -> device; values, returns and advantages of all rows
//   Step         one update: gather, forward, loss, backward, norm, clip, optimizer
//   Join         of a rank that has no update any more: the step that the others make
//   Gradient     the same without the optimizer, where parameters are stepped elsewhere; waits
//   EndBatch     a step that is too long is shortened; observation statistics; parameters and sums
//                -> host
//
// Each kind of pass is recorded once and replayed (recorded_step.h): what changes from one pass to
// the next is read from the control block and the lists of passes.
//
//   pass_runner.h         rows through the network, the loss, and back
//   device_parameters.h   parameters, gradient, optimizer
//   device_returns.h      values -> returns and advantages
//   device_plan.h         passes and control block; device_batch.h the columns of a batch
#pragma once

#include <memory>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/batch_passes.h"
#include "server/device/device_batch.h"
#include "server/device/device_observation_statistics.h"
#include "server/device/device_parameters.h"
#include "server/device/device_plan.h"
#include "server/device/device_returns.h"
#include "server/device/pass_runner.h"
#include "server/device/recorded_step.h"
#include "server/learn/algorithm.h"

namespace murmurate {

class DeviceEngine {
 public:
  /// Plans memory; settings.kind must have a loss form. `arithmetic`: of the device.
  DeviceEngine(const ModelSpec& spec, const AlgorithmSettings& settings, StepPlace place,
               const DeviceArithmetic& arithmetic);
  ~DeviceEngine();

  /// Allocates what was planned; once, before what follows. The device must outlive it.
  Status Start(Device* device);
  const DeviceMemory& memory() const { return memory_; }
  DeviceParameters& parameters() { return parameters_; }

  void Prefetch(const TrainingBatch& next) { batch_.Prefetch(device_, next); }
  void ForgetPrefetched() { batch_.Forget(); }
  void BeginBatch(const TrainingBatch& batch, const BatchPlan& plan);
  int updates() const { return passes_.counts().updates; }
  void SetRate(double rate) { plan_.EnqueueRateUp(rate); }  ///< of the present batch
  void Step() { step_.Run(device_); }
  void Join() { join_.Run(device_); }
  void Gradient();  ///< parameters().host_gradient()
  void Score() { score_.Run(device_); }
  /// `counts`: the statistics count the batch's observations here.
  void EndBatch(bool counts);
  void Await() { plan_.Await(); }
  bool Done() { return plan_.Done(); }  ///< the same, without waiting
  /// The sums of the batch, after Await.
  const TrainingControl& result() const { return plan_.host(); }

 private:
  void EnqueuePrepare();
  void EnqueueMeasure();

  const AlgorithmSettings settings_;
  DeviceMemory memory_;
  BatchPasses passes_;
  DevicePlanRoom plan_;
  DeviceBatch batch_;
  PassRunner runner_;
  DeviceParameters parameters_;
  const std::unique_ptr<DeviceReturns> returns_;  ///< null: labels
  const DeviceObservationStatistics statistics_;
  const bool limits_;  ///< a step that is too long is shortened
  RecordedStep prepare_, step_, join_, gradient_, score_, measure_;
  Device* device_ = nullptr;
  const TrainingBatch* training_ = nullptr;  ///< the present batch
};

}  // namespace murmurate
