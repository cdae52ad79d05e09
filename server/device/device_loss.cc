#include "server/device/device_loss.h"

#include "server/learn/algorithm.h"
#include "server/learn/label_sums.h"
#include "server/learn/on_policy_sums.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

static_assert(on_policy_sums::kWeight == 0 && on_policy_sums::kPolicyLoss == 1 &&
              on_policy_sums::kValueLoss == 2 && on_policy_sums::kEntropy == 3 &&
              on_policy_sums::kApproxKl == kPolicyKlSum && on_policy_sums::kClipped == 5);
static_assert(on_policy_sums::kValueGradient == on_policy_sums::kPolicyGradient + 1);
static_assert(label_sums::kLearned == 0 && label_sums::kWeight == 0 && label_sums::kLoss == 1 &&
              label_sums::kChoices == 2 && label_sums::kRight == 3 && label_sums::kNumbers == 4 &&
              label_sums::kDistance == 5);

}  // namespace

DeviceLoss::DeviceLoss(const ModelSpec& spec, int max_rows, DeviceMemory* memory)
    : head_(spec, memory) {
  const auto blocks = static_cast<std::size_t>(BlocksFor(max_rows));
  const auto deviations = static_cast<std::size_t>(head_.free_deviations());
  sums_ = memory->Plan<double>(MemoryPurpose::kWorkspace, blocks * kLossSums);
  deviations_ = memory->Plan<double>(MemoryPurpose::kWorkspace, blocks * deviations);
}

HeadRows DeviceLoss::RowsOf(const DeviceMinibatch& minibatch) const {
  MURMURATE_CHECK(static_cast<std::size_t>(BlocksFor(minibatch.rows)) * kLossSums <= sums_.size(),
                  "more rows than the loss was made for");
  return {.outputs = minibatch.outputs,
          .log_deviations = minibatch.log_deviations,
          .actions = minibatch.actions,
          .mask = minibatch.mask};
}

LossParts DeviceLoss::PartsOf(const DeviceMinibatch& minibatch) const {
  return {.weight = minibatch.weight_parts, .sums = sums_.data(), .deviations = deviations_.data()};
}

void DeviceLoss::Finish(Device* device, Stream stream, const DeviceMinibatch& minibatch,
                        TrainingControl* control, int updates_sum, int scored_sums) const {
  device->Launch(stream, Grid{.threads = kLossRows},
                 FinishLossCall{.control = control,
                                .parts = PartsOf(minibatch),
                                .blocks = BlocksFor(minibatch.rows),
                                .free_deviations = head_.free_deviations(),
                                .d_log_deviations = minibatch.d_log_deviations,
                                .updates_sum = updates_sum,
                                .scored_sums = scored_sums});
}

DevicePolicyLoss::DevicePolicyLoss(const ModelSpec& spec, LossForm::Kind kind, int max_rows,
                                   DeviceMemory* memory)
    : DeviceLoss(spec, max_rows, memory), clips_ratio_(kind == LossForm::Kind::kClippedRatio) {}

int DevicePolicyLoss::norm_sums() const { return on_policy_sums::kPolicyGradient; }

void DevicePolicyLoss::Enqueue(Device* device, Stream stream, const DeviceMinibatch& minibatch,
                               TrainingControl* control) {
  device->Launch(stream, GridFor(minibatch.rows),
                 PolicyLossCall{.control = control,
                                .head = head().table(),
                                .batch = RowsOf(minibatch),
                                .rows = minibatch.rows,
                                .clips_ratio = clips_ratio_,
                                .weight = minibatch.weight,
                                .behaviour_log_prob = minibatch.behaviour_log_prob,
                                .start_log_prob = minibatch.start_log_prob,
                                .advantage = minibatch.advantage,
                                .value_target = minibatch.value_target,
                                .values = minibatch.values,
                                .d_outputs = minibatch.d_outputs,
                                .d_values = minibatch.d_values,
                                .parts = PartsOf(minibatch)});
  Finish(device, stream, minibatch, control, on_policy_sums::kUpdates, -1);
}

DeviceLabelLoss::DeviceLabelLoss(const ModelSpec& spec, LossForm::Kind kind, int max_rows,
                                 DeviceMemory* memory)
    : DeviceLoss(spec, max_rows, memory), squared_error_(kind == LossForm::Kind::kSquaredError) {}

void DeviceLabelLoss::Enqueue(Device* device, Stream stream, const DeviceMinibatch& minibatch,
                              TrainingControl* control) {
  device->Launch(stream, GridFor(minibatch.rows),
                 LabelLossCall{.control = control,
                               .head = head().table(),
                               .batch = RowsOf(minibatch),
                               .rows = minibatch.rows,
                               .squared_error = squared_error_,
                               .weight = minibatch.weight,
                               .d_outputs = minibatch.d_outputs,
                               .d_values = minibatch.d_values,
                               .parts = PartsOf(minibatch)});
  Finish(device, stream, minibatch, control, -1, label_sums::kScored);
}

std::unique_ptr<DeviceLoss> MakeDeviceLoss(const ModelSpec& spec, const AlgorithmSettings& settings,
                                           int max_rows, DeviceMemory* memory) {
  MURMURATE_CHECK(settings.kind->loss != nullptr, "this algorithm trains on the processor only");
  const LossForm form = settings.kind->loss(settings);
  if (form.of_policy())
    return std::make_unique<DevicePolicyLoss>(spec, form.kind, max_rows, memory);
  return std::make_unique<DeviceLabelLoss>(spec, form.kind, max_rows, memory);
}

}  // namespace murmurate
