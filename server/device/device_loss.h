// DeviceLoss: what a minibatch costs, and the gradient of that by the network's outputs, on a
// device. One form for each LossForm::Kind (server/learn/loss_form.h).
//
//   Enqueue   d_outputs, d_values and d_log_deviations <- the gradient
//             control->begun, control->sums <- counted, unless the batch was left; the pass ends
//             control->stopped <- 1 where the policy is further than control->most_kl from the one
//             that the batch began with: this update is counted, and nothing later changes anything
//
// Coefficients (clip, dual_clip, entropy, value_weight) come from the control block. Sums are those
// of server/learn/on_policy_sums.h and label_sums.h. Rows of weight 0 add nothing and get zeros,
// whatever they hold.
#pragma once

#include <memory>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/calls/loss.h"
#include "server/device/device_head.h"
#include "server/device/device_minibatch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/loss_form.h"

namespace murmurate {

class DeviceLoss {
 public:
  virtual ~DeviceLoss() = default;

  /// Copies its tables to the device: once, before all else.
  void Upload(Device* device, Stream stream) const { head_.Upload(device, stream); }

  /// minibatch.rows is at most the max_rows of the constructor.
  virtual void Enqueue(Device* device, Stream stream, const DeviceMinibatch& minibatch,
                       TrainingControl* control) = 0;

  const DeviceHead& head() const { return head_; }
  /// The first of the two places of control->sums for the gradient's norms (policy, value), which
  /// the optimizer adds; -1: not wanted.
  virtual int norm_sums() const { return -1; }

 protected:
  static Grid GridFor(int rows) { return Grid::For(static_cast<std::size_t>(rows), kLossRows); }
  static int BlocksFor(int rows) { return static_cast<int>(GridFor(rows).blocks); }

  DeviceLoss(const ModelSpec& spec, int max_rows, DeviceMemory* memory);

  HeadRows RowsOf(const DeviceMinibatch& minibatch) const;
  LossParts PartsOf(const DeviceMinibatch& minibatch) const;
  /// The places of control->sums, -1 where there are none: of the number of updates, and where the
  /// sums over what is scored begin.
  void Finish(Device* device, Stream stream, const DeviceMinibatch& minibatch,
              TrainingControl* control, int updates_sum, int scored_sums) const;

 private:
  const DeviceHead head_;
  DeviceArray<double> sums_, deviations_;
};

/// PPO's clipped ratio with its dual clip, or the plain policy gradient.
class DevicePolicyLoss : public DeviceLoss {
 public:
  DevicePolicyLoss(const ModelSpec& spec, LossForm::Kind kind, int max_rows, DeviceMemory* memory);
  void Enqueue(Device* device, Stream stream, const DeviceMinibatch& minibatch,
               TrainingControl* control) override;
  int norm_sums() const override;

 private:
  const bool clips_ratio_;
};

/// Labels: squared error of numbers, where NaN is not known, or their likelihood. With
/// control->scores the sums are those over what is scored; with control->scored_too those of the
/// first pass over the batch are both.
class DeviceLabelLoss : public DeviceLoss {
 public:
  DeviceLabelLoss(const ModelSpec& spec, LossForm::Kind kind, int max_rows, DeviceMemory* memory);
  void Enqueue(Device* device, Stream stream, const DeviceMinibatch& minibatch,
               TrainingControl* control) override;

 private:
  const bool squared_error_;
};

/// The loss of settings.kind; it must have one (AlgorithmKind::loss).
std::unique_ptr<DeviceLoss> MakeDeviceLoss(const ModelSpec& spec, const AlgorithmSettings& settings,
                                           int max_rows, DeviceMemory* memory);

}  // namespace murmurate
