// DeviceRankMean: a gradient on this rank's device becomes the mean over the ranks that have one, in
// one sum of all of it (server/compute/device/rank_sums.h). What CollectiveStore does with gradients
// on the host.
//
//   the gradient, its norms counted  --or zeros-->  gradient[count + 1]  --sum, divide-->  the mean
//                                                             `how many ranks added one
#pragma once

#include "server/compute/device/calls/control.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"

namespace murmurate {

class DeviceRankMean {
 public:
  /// Of gradients of `count` numbers, the value's own from `value_begin` on. `norm_sums`: of the loss
  /// (DeviceLoss::norm_sums).
  DeviceRankMean(std::size_t count, std::size_t value_begin, int norm_sums, DeviceMemory* memory);

  /// Of a gradient block: the number behind it, how many ranks the mean is of.
  const float* joined(const float* gradient) const { return gradient + count_; }
  /// `gradient`: count + 1 numbers. Where the batch was left (control->stopped), and with `joins`,
  /// this rank adds nothing. The device has rank_sums(), which all ranks have joined.
  void Enqueue(Device* device, Stream stream, TrainingControl* control, float* gradient,
               bool joins) const;

 private:
  const std::size_t count_, value_begin_;
  const int norm_sums_;
  DeviceArray<double> parts_;
};

}  // namespace murmurate
