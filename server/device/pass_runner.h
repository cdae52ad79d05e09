// PassRunner: one pass over rows of a batch on a device: rows put together, the network forward,
// what a head or a loss makes of it, the network backward. Everything is enqueued with the same
// arguments every time (recorded_step.h).
#pragma once

#include <memory>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/batch_passes.h"
#include "server/device/device_batch.h"
#include "server/device/device_inputs.h"
#include "server/device/device_loss.h"
#include "server/device/device_network.h"
#include "server/device/device_plan.h"
#include "server/device/device_returns.h"
#include "server/device/gathered_rows.h"

namespace murmurate {

class PassRunner {
 public:
  /// Plans memory. What it is given must outlive it. `arithmetic`: of the device.
  PassRunner(const ModelSpec& spec, const AlgorithmSettings& settings, const BatchPasses* passes,
             const DevicePlanRoom* plan, const DeviceBatch* batch,
             const DeviceArithmetic& arithmetic, DeviceMemory* memory);

  /// After memory is allocated. `parameters`: the whole block on the device.
  void Start(Device* device, const float* parameters);
  /// The batch that the next passes are over; `returns` of it, or null.
  void Begin(const TrainingBatch& batch, const DeviceReturns* returns);

  /// A pass whose rows are not learned from; seen() says what the network gave.
  void EnqueueSeen();
  DeviceSeenRows seen() const;
  /// A pass of an update: its loss, and the gradients of that by the network's outputs and by the free
  /// log deviations, which are among the parameters. `gradient`: of all that are trained.
  void EnqueueLoss(float* gradient);
  /// The same, and the gradient by all parameters. Padding between tensors stays as it is.
  void EnqueueGradient(float* gradient);

  const DeviceLoss& loss() const { return *loss_; }
  const ParameterLayout& layout() const { return network_.layout(); }

 private:
  void EnqueueGather(const PassShape& shape, const DeviceReturns* returns);
  InputPass InputsOf(const PassLists& lists, const PassShape& shape) const;
  void EnqueueForward();
  const float* log_deviations() const;
  bool warms() const { return passes_->burn_in_shape().rows() > 0; }

  const BatchPasses* const passes_;
  const DevicePlanRoom* const plan_;
  const DeviceBatch* const batch_;
  const bool shared_value_;  ///< the value reads the policy's features
  DeviceInputs inputs_;
  DeviceNetwork network_;
  const GatheredRows rows_;
  const std::unique_ptr<DeviceLoss> loss_;
  const DeviceArray<float> log_prob_, deviation_;
  const std::size_t deviation_at_;  ///< of the free log deviations in parameters and gradient
  Device* device_ = nullptr;
  const float* parameters_ = nullptr;
  const TrainingBatch* training_ = nullptr;
  const DeviceReturns* returns_ = nullptr;
};

}  // namespace murmurate
