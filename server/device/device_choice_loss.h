// DeviceChoiceLoss: the loss of a network that gives a value for each choice, on a device
// (server/learn/dqn.cc).
#pragma once

#include "server/compute/device/calls/replay.h"
#include "server/device/device_head.h"
#include "server/device/device_replay_loss.h"
#include "server/device/device_single_network.h"

namespace murmurate {

class DeviceChoiceLoss : public DeviceReplayLoss {
 public:
  explicit DeviceChoiceLoss(const DeviceReplayRequest& request);

  Status Start(Device* device) override {
    head_.Upload(device, Stream::kMain);
    return {};
  }
  void EnqueueErrors(const DeviceReplayStep& step) override { EnqueueLoss(step, false); }
  void EnqueueGradient(const DeviceReplayStep& step, float* gradient) override;

 private:
  void EnqueueLoss(const DeviceReplayStep& step, bool counts);
  Grid grid() const { return Grid::For(static_cast<std::size_t>(passes_.rows()), kLossRows); }

  const ReplayPasses& passes_;
  const DeviceInputs& inputs_;
  const bool double_q_;
  const DeviceHead head_;
  DeviceSingleNetwork policy_, target_;
  const DeviceArray<double> parts_;
};

}  // namespace murmurate
