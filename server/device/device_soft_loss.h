// DeviceSoftLoss: soft actor-critic for actions of numbers on a device (server/learn/sac.cc): a policy,
// twin critics that read the action, their targets, and a temperature that is tuned.
#pragma once

#include <memory>

#include "server/compute/device/calls/soft_numbers.h"
#include "server/device/device_head.h"
#include "server/device/device_replay_loss.h"
#include "server/device/device_single_network.h"
#include "server/device/pinned_block.h"

namespace murmurate {

class DeviceSoftLoss : public DeviceReplayLoss {
 public:
  explicit DeviceSoftLoss(const DeviceReplayRequest& request);

  Status Start(Device* device) override;
  void EnqueueErrors(const DeviceReplayStep& step) override;
  void EnqueueGradient(const DeviceReplayStep& step, float* gradient) override;

  void EnqueueDown(Device* device) override;
  void Adopt() override { temperature_ = *coming(); }
  void Save(const StateWriter& writer) const override;
  Status Load(Device* device, const StateReader& reader) override;

 private:
  void EnqueueDraw(const DeviceReplayStep& step);
  void EnqueueCriticLoss(const DeviceReplayStep& step);
  void EnqueuePolicyGradient(const DeviceReplayStep& step, float* gradient);
  void EnqueueFinish(const DeviceReplayStep& step, bool counts);
  void EnqueueTemperatureUp(Device* device);
  Grid grid() const { return Grid::For(static_cast<std::size_t>(passes_.rows()), kLossRows); }
  SoftState* coming() const { return reinterpret_cast<SoftState*>(pinned_->data()); }

  const ReplayPasses& passes_;
  const DeviceInputs& inputs_;
  const DeviceHead head_;
  const std::size_t numbers_;  ///< of an action
  const double target_entropy_;
  SoftState temperature_;  ///< of the last Adopt
  const DeviceArray<SoftState> state_;
  const DeviceArray<float> action_, spread_;  ///< [2 rows][numbers]
  const DeviceArray<double> log_prob_;        ///< [2 rows]
  const DeviceArray<float> read_action_;      ///< [rows][numbers] that critics read
  const DeviceArray<float> d_actions_[2];     ///< [rows][numbers] by each critic
  const DeviceArray<double> critic_parts_, policy_parts_;
  DeviceSingleNetwork policy_, q1_, q2_, target_q1_, target_q2_;
  std::unique_ptr<PinnedBlock> pinned_;
};

}  // namespace murmurate
