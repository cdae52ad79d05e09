#include "server/device/device_soft_loss.h"

#include <array>
#include <cmath>

#include "server/device/device_control.h"
#include "server/learn/replay_algorithm.h"
#include "server/learn/temperature.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using Sums = ReplayAlgorithm;
static_assert(Sums::kSteps == 0 && Sums::kLoss == 1 && Sums::kValue == 2 && Sums::kDistance == 3 &&
              Sums::kPolicySteps == 4 && Sums::kPolicyLoss == 5 && Sums::kEntropy == 6 &&
              Sums::kTemperature == 7);

template <typename T>
DeviceArray<T> PlanRows(const DeviceReplayRequest& request, int rows, std::size_t each) {
  return request.memory->Plan<T>(MemoryPurpose::kActivations,
                                 static_cast<std::size_t>(rows) * each);
}

ActionLayout ActionsOf(const ModelSpec& spec) {
  return ActionLayout(spec.spaces.action, spec.continuous);
}

}  // namespace

DeviceSoftLoss::DeviceSoftLoss(const DeviceReplayRequest& r)
    : passes_(r.passes),
      inputs_(r.inputs),
      head_(r.spec, r.memory),
      numbers_(static_cast<std::size_t>(ActionsOf(r.spec).words())),
      target_entropy_(
          r.settings.policy.target_entropy.value_or(TargetEntropyOfNumbers(ActionsOf(r.spec)))),
      temperature_{std::log(r.settings.policy.initial_temperature), 0, 0, 0},
      state_(r.memory->Plan<SoftState>(MemoryPurpose::kParameters, 1)),
      action_(PlanRows<float>(r, 2 * passes_.rows(), numbers_)),
      spread_(PlanRows<float>(r, 2 * passes_.rows(), numbers_)),
      log_prob_(PlanRows<double>(r, 2 * passes_.rows(), 1)),
      read_action_(PlanRows<float>(r, passes_.rows(), numbers_)),
      d_actions_{PlanRows<float>(r, passes_.rows(), numbers_),
                 PlanRows<float>(r, passes_.rows(), numbers_)},
      critic_parts_(r.memory->Plan<double>(MemoryPurpose::kWorkspace,
                                           std::size_t{grid().blocks} * kReplaySums)),
      policy_parts_(r.memory->Plan<double>(MemoryPurpose::kWorkspace,
                                           std::size_t{grid().blocks} * PolicyValueCall::kSums)),
      policy_(r.spec, r.layout, kPolicyNetwork, 2 * passes_.rows(), inputs_.inputs(), r.precision,
              r.memory),
      q1_(r.spec, r.layout, "q1", passes_.rows(), inputs_.inputs(), r.precision, r.memory,
          read_action_),
      q2_(r.spec, r.layout, "q2", passes_.rows(), inputs_.inputs(), r.precision, r.memory,
          read_action_),
      target_q1_(r.spec, r.layout, "target_q1", passes_.rows(), inputs_.InputsFrom(passes_.rows()),
                 r.precision, r.memory,
                 action_.From(static_cast<std::size_t>(passes_.rows()) * numbers_)),
      target_q2_(r.spec, r.layout, "target_q2", passes_.rows(), inputs_.InputsFrom(passes_.rows()),
                 r.precision, r.memory,
                 action_.From(static_cast<std::size_t>(passes_.rows()) * numbers_)) {}

Status DeviceSoftLoss::Start(Device* device) {
  pinned_ = std::make_unique<PinnedBlock>(device, sizeof(SoftState));
  if (pinned_->data() == nullptr) return NoPinnedMemory();
  head_.Upload(device, Stream::kMain);
  EnqueueTemperatureUp(device);
  return {};
}

void DeviceSoftLoss::EnqueueTemperatureUp(Device* device) {
  *coming() = temperature_;
  device->CopyIn(Stream::kMain, state_.data(), coming(), sizeof(SoftState));
}

/// The policy's actions in all rows, and those that were recorded.
void DeviceSoftLoss::EnqueueDraw(const DeviceReplayStep& step) {
  const int rows = passes_.rows();
  policy_.Forward(step.device, step.parameters, 2 * rows);
  step.device->Launch(Stream::kMain, Grid::For(2 * static_cast<std::size_t>(rows)),
                      DrawNumbersCall{.control = step.control,
                                      .lists = passes_.lists(),
                                      .noise_at = passes_.noise_at(),
                                      .head = head_.table(),
                                      .rows = rows,
                                      .outputs = policy_.outputs().data(),
                                      .action = action_.data(),
                                      .spread = spread_.data(),
                                      .log_prob = log_prob_.data(),
                                      .recorded = read_action_.data()});
}

void DeviceSoftLoss::EnqueueCriticLoss(const DeviceReplayStep& step) {
  const int rows = passes_.rows();
  for (DeviceSingleNetwork* const network : {&target_q1_, &target_q2_, &q1_, &q2_})
    network->Forward(step.device, step.parameters, rows);
  step.device->Launch(
      Stream::kMain, grid(),
      CriticLossCall{.control = step.control,
                     .lists = passes_.lists(),
                     .state = state_.data(),
                     .rows = rows,
                     .target_q = {target_q1_.outputs().data(), target_q2_.outputs().data()},
                     .log_prob = log_prob_.data(),
                     .q = {q1_.outputs().data(), q2_.outputs().data()},
                     .d_q = {q1_.d_outputs().data(), q2_.d_outputs().data()},
                     .distance = step.distance,
                     .parts = critic_parts_.data()});
}

void DeviceSoftLoss::EnqueueErrors(const DeviceReplayStep& step) {
  EnqueueDraw(step);
  EnqueueCriticLoss(step);
  EnqueueFinish(step, false);
}

void DeviceSoftLoss::EnqueueGradient(const DeviceReplayStep& step, float* gradient) {
  EnqueueDraw(step);
  EnqueueCriticLoss(step);
  for (DeviceSingleNetwork* const critic : {&q1_, &q2_})
    critic->Backward(step.device, step.parameters, passes_.rows(), gradient);
  EnqueuePolicyGradient(step, gradient);
}

/// The critics read the actions that were drawn at the steps; their parameters stand still.
void DeviceSoftLoss::EnqueuePolicyGradient(const DeviceReplayStep& step, float* gradient) {
  const int rows = passes_.rows();
  step.device->CopyWithin(Stream::kMain, read_action_.data(), action_.data(), read_action_.bytes());
  for (DeviceSingleNetwork* const critic : {&q1_, &q2_})
    critic->Forward(step.device, step.parameters, rows);
  step.device->Launch(Stream::kMain, grid(),
                      PolicyValueCall{.control = step.control,
                                      .lists = passes_.lists(),
                                      .rows = rows,
                                      .log_prob = log_prob_.data(),
                                      .q = {q1_.outputs().data(), q2_.outputs().data()},
                                      .d_q = {q1_.d_outputs().data(), q2_.d_outputs().data()},
                                      .parts = policy_parts_.data()});
  q1_.Backward(step.device, step.parameters, rows, nullptr, d_actions_[0].data());
  q2_.Backward(step.device, step.parameters, rows, nullptr, d_actions_[1].data());
  step.device->Launch(Stream::kMain, Grid::For(static_cast<std::size_t>(rows)),
                      NumbersGradientCall{.control = step.control,
                                          .lists = passes_.lists(),
                                          .state = state_.data(),
                                          .head = head_.table(),
                                          .rows = rows,
                                          .outputs = policy_.outputs().data(),
                                          .action = action_.data(),
                                          .spread = spread_.data(),
                                          .d_actions = {d_actions_[0].data(), d_actions_[1].data()},
                                          .d_outputs = policy_.d_outputs().data()});
  EnqueueFinish(step, true);
  policy_.Backward(step.device, step.parameters, rows, gradient);
}

void DeviceSoftLoss::EnqueueFinish(const DeviceReplayStep& step, bool counts) {
  step.device->Launch(Stream::kMain, Grid{.threads = kLossRows},
                      FinishSoftCall{.control = step.control,
                                     .lists = passes_.lists(),
                                     .state = state_.data(),
                                     .target_entropy = target_entropy_,
                                     .critic_parts = critic_parts_.data(),
                                     .policy_parts = policy_parts_.data(),
                                     .blocks = static_cast<int>(grid().blocks),
                                     .counts = counts});
}

void DeviceSoftLoss::EnqueueDown(Device* device) {
  device->CopyOut(Stream::kMain, coming(), state_.data(), sizeof(SoftState));
}

void DeviceSoftLoss::Save(const StateWriter& writer) const {
  writer.Doubles("temperature", std::array{temperature_.log_alpha, temperature_.first,
                                           temperature_.second, temperature_.steps});
}

Status DeviceSoftLoss::Load(Device* device, const StateReader& reader) {
  std::array<double, 4> saved;
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("temperature", saved));
  temperature_ = {saved[0], saved[1], saved[2], saved[3]};
  EnqueueTemperatureUp(device);
  return {};
}

}  // namespace murmurate
