// DeviceParameters: a model's parameters on a device and their copies on the host, the gradient, and
// the optimizer where it is here.
#pragma once

#include <memory>
#include <span>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_control.h"
#include "server/device/device_optimizer.h"
#include "server/device/device_rank_mean.h"
#include "server/learn/algorithm.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

/// Where the parameters are stepped.
enum class StepPlace : std::uint8_t {
  kHere,       ///< on the device
  kRanks,      ///< on the device of each rank of a job, by the mean of all gradients
  kElsewhere,  ///< by a ParameterStore
};

class DeviceParameters {
 public:
  /// Plans memory. `norm_sums`: of the loss (DeviceLoss::norm_sums).
  DeviceParameters(const ParameterLayout& layout, const AlgorithmSettings& settings, int norm_sums,
                   StepPlace place, DeviceMemory* memory);

  /// After memory is allocated, before what follows; parameters are zeros. The device must outlive
  /// it.
  Status Start(Device* device, DeviceControl* control);

  float* parameters() const { return parameters_.data(); }  ///< on the device, as gradient()
  /// Zeros at first: who writes it writes whole tensors, and padding stays zeros.
  float* gradient() const { return gradient_.data(); }
  /// The statistics section that counts what this learner sees: the parameters' own, or, of a rank,
  /// one beside them.
  float* seen() const;
  SectionRange statistics() const { return statistics_; }  ///< that section of the block
  const DeviceOptimizer* optimizer() const { return optimizer_.get(); }  ///< null: not here

  /// The parameters on the host, as the caller or the last Adopt left them.
  std::span<float> host() const { return HostBlock(current_); }
  /// The gradient that the last EnqueueGradientDown brought.
  std::span<float> host_gradient() const;
  /// Of a rank: seen() on the host.
  std::span<float> host_seen() const;

  // Enqueued.
  void EnqueueUp();            ///< host() -> device
  void EnqueueStatisticsUp();  ///< only that section
  void EnqueueSeenUp();        ///< host_seen() -> seen()
  void EnqueueDown();          ///< device -> what Adopt makes host(), and host_seen()
  void EnqueueGradientDown();  ///< gradient() -> host_gradient()
  void EnqueueStep();          ///< by the optimizer, of ranks with the mean of all gradients
  void EnqueueJoin();          ///< the same without a gradient of this rank
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

  void EnqueueMeanStep(bool joins);

  const std::size_t value_at_;  ///< the first of the value's own parameters
  const SectionRange trained_, statistics_;
  const int norm_sums_;
  const std::unique_ptr<DeviceRankMean> mean_;  ///< null: this learner is no rank
  const DeviceArray<float> parameters_, gradient_, seen_;
  const std::unique_ptr<DeviceOptimizer> optimizer_;
  Device* device_ = nullptr;
  DeviceControl* control_ = nullptr;
  /// Two blocks of parameters, the current ones and those that come; gradient or optimizer's state;
  /// what was seen.
  std::unique_ptr<PinnedBlock> host_;
  int current_ = 0;
};

}  // namespace murmurate
