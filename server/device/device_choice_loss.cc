#include "server/device/device_choice_loss.h"

#include "server/learn/replay_algorithm.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using Sums = ReplayAlgorithm;
static_assert(Sums::kSteps == 0 && Sums::kLoss == 1 && Sums::kValue == 2 && Sums::kDistance == 3);

}  // namespace

DeviceChoiceLoss::DeviceChoiceLoss(const DeviceReplayRequest& request)
    : passes_(request.passes),
      inputs_(request.inputs),
      double_q_(request.settings.double_q),
      head_(request.spec, request.memory),
      policy_(request.spec, request.layout, kPolicyNetwork, 2 * passes_.rows(), inputs_.inputs(),
              request.precision, request.memory),
      target_(request.spec, request.layout, request.spec.networks.back().name, passes_.rows(),
              inputs_.InputsFrom(passes_.rows()), request.precision, request.memory),
      parts_(request.memory->Plan<double>(MemoryPurpose::kWorkspace,
                                          std::size_t{grid().blocks} * kReplaySums)) {}

void DeviceChoiceLoss::EnqueueLoss(const DeviceReplayStep& step, bool counts) {
  const int rows = passes_.rows();
  policy_.Forward(step.device, step.parameters, double_q_ ? 2 * rows : rows);
  target_.Forward(step.device, step.parameters, rows);
  step.device->Launch(Stream::kMain, grid(),
                      ChoiceLossCall{.control = step.control,
                                     .lists = passes_.lists(),
                                     .head = head_.table(),
                                     .rows = rows,
                                     .double_q = double_q_,
                                     .q = policy_.outputs().data(),
                                     .target_q = target_.outputs().data(),
                                     .d_q = policy_.d_outputs().data(),
                                     .distance = step.distance,
                                     .parts = parts_.data()});
  step.device->Launch(Stream::kMain, Grid{.threads = kLossRows},
                      FinishReplayCall{.control = step.control,
                                       .parts = parts_.data(),
                                       .blocks = static_cast<int>(grid().blocks),
                                       .counts = counts});
}

void DeviceChoiceLoss::EnqueueGradient(const DeviceReplayStep& step, float* gradient) {
  EnqueueLoss(step, true);
  policy_.Backward(step.device, step.parameters, passes_.rows(), gradient);
}

}  // namespace murmurate
