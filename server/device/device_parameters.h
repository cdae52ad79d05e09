// DeviceParameters: a model's parameters on a device and their copies on the host, the gradient, and
// the optimizer where it is here.
#pragma once

#include <memory>
#include <span>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_optimizer.h"
#include "server/device/device_plan.h"
#include "server/learn/algorithm.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

class DeviceParameters {
 public:
  /// Plans memory. `norm_sums`: of the loss (DeviceLoss::norm_sums). `steps_here`: there is an
  /// optimizer; else others step the parameters.
  DeviceParameters(const ParameterLayout& layout, const AlgorithmSettings& settings, int norm_sums,
                   bool steps_here, DeviceMemory* memory);

  /// After memory is allocated, before what follows; parameters are zeros. The device must outlive
  /// it; `plan` has the control block.
  Status Start(Device* device, DevicePlanRoom* plan);

  float* parameters() const { return parameters_.data(); }  ///< on the device, as gradient()
  /// Zeros at first: who writes it writes whole tensors, and padding stays zeros.
  float* gradient() const { return gradient_.data(); }
  const DeviceOptimizer* optimizer() const { return optimizer_.get(); }  ///< null: not here

  /// The parameters on the host, as the caller or the last Adopt left them.
  std::span<float> host() const { return HostBlock(current_); }
  /// The gradient that the last EnqueueGradientDown brought.
  std::span<float> host_gradient() const;

  // Enqueued.
  void EnqueueUp();            ///< host() -> device
  void EnqueueDown();          ///< device -> what Adopt makes host()
  void EnqueueGradientDown();  ///< gradient() -> host_gradient()
  void EnqueueStep();          ///< by the optimizer
  /// The parameters that EnqueueDown brought become host(); after they have come.
  void Adopt() { current_ = 1 - current_; }

  /// Counts the norms of host_gradient(), as the optimizer does where it is here.
  void AddNorms(AlgorithmSums* sums) const;

  // The optimizer; these wait for the device.
  void Forget();
  void Save(const StateWriter& writer);  ///< SaveFirst, where the device has failed
  /// The same of an optimizer as it was made; asks nothing of the device.
  void SaveFirst(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

 private:
  std::span<float> HostBlock(int block) const;
  std::span<float> HostState() const;

  const std::size_t value_at_;  ///< the first of the value's own parameters
  const int norm_sums_;
  const DeviceArray<float> parameters_, gradient_;
  const std::unique_ptr<DeviceOptimizer> optimizer_;
  Device* device_ = nullptr;
  DevicePlanRoom* plan_ = nullptr;
  /// Two blocks of parameters, the current ones and those that come; gradient or optimizer's state.
  std::unique_ptr<PinnedBlock> host_;
  int current_ = 0;
};

}  // namespace murmurate
