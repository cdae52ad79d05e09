#include "server/device/device_replay_loss.h"

#include "server/device/device_choice_loss.h"
#include "server/device/device_soft_loss.h"
#include "server/learn/algorithm.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

LossForm::Kind FormOf(const AlgorithmSettings& settings) {
  MURMURATE_CHECK(settings.kind->loss != nullptr && settings.kind->loss(settings).of_replay(),
                  "an algorithm that a device can train from a replay");
  return settings.kind->loss(settings).kind;
}

}  // namespace

int NoiseOfReplayLoss(const ModelSpec& spec, const AlgorithmSettings& settings) {
  if (FormOf(settings) != LossForm::Kind::kSoftNumbers) return 0;
  return ActionLayout(spec.spaces.action, spec.continuous).words();
}

std::unique_ptr<DeviceReplayLoss> MakeDeviceReplayLoss(const DeviceReplayRequest& request) {
  if (FormOf(request.settings) == LossForm::Kind::kSoftNumbers)
    return std::make_unique<DeviceSoftLoss>(request);
  return std::make_unique<DeviceChoiceLoss>(request);
}

}  // namespace murmurate
