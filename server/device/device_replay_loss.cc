#include "server/device/device_replay_loss.h"

#include "server/device/device_choice_loss.h"
#include "server/learn/algorithm.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

LossForm::Kind FormOf(const AlgorithmSettings& settings) {
  MURMURATE_CHECK(settings.kind->loss != nullptr, "an algorithm that a device can train");
  return settings.kind->loss(settings).kind;
}

}  // namespace

int NoiseOfReplayLoss(const ModelSpec&, const AlgorithmSettings&) { return 0; }

std::unique_ptr<DeviceReplayLoss> MakeDeviceReplayLoss(const DeviceReplayRequest& request) {
  MURMURATE_CHECK(FormOf(request.settings) == LossForm::Kind::kChoiceValues,
                  "a loss over steps from a replay");
  return std::make_unique<DeviceChoiceLoss>(request);
}

}  // namespace murmurate
