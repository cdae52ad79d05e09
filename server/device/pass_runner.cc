#include "server/device/pass_runner.h"

#include "shared/core/check.h"
#include "shared/model/network_plan.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

NetworkPlan PlanOf(const ModelSpec& spec, std::string_view network) {
  Result<NetworkPlan> plan = PlanNetwork(spec, network);
  MURMURATE_CHECK(plan.ok(), "a model that can be made");
  return *std::move(plan);
}

}  // namespace

PassRunner::PassRunner(const ModelSpec& spec, const AlgorithmSettings& settings,
                       const BatchPasses* passes, const DevicePlanRoom* plan,
                       const DeviceBatch* batch, const DeviceArithmetic& arithmetic,
                       DeviceMemory* memory)
    : passes_(passes),
      plan_(plan),
      batch_(batch),
      shared_value_(!spec.Find(kValueNetwork)->shares.empty()),
      inputs_(spec, ParameterLayout(spec), PlanOf(spec, kPolicyNetwork),
              PlanOf(spec, kValueNetwork), passes->most_rows(), arithmetic.pictures, memory),
      network_(spec, passes->most_rows(), inputs_.inputs(), memory, DeviceNetworkForm::kBySize,
               arithmetic.precision),
      rows_(spec, passes->most_rows(), passes->update_shape().lanes, network_.state_floats(),
            memory),
      loss_(MakeDeviceLoss(spec, settings, passes->most_rows(), memory)),
      log_prob_(memory->Plan<float>(MemoryPurpose::kActivations,
                                    static_cast<std::size_t>(passes->most_rows()))),
      deviation_(memory->Plan<float>(MemoryPurpose::kActivations, log_prob_.size())),
      deviation_at_(
          loss_->head().free_deviations() == 0 ? 0 : layout().Find("policy.log_deviation").offset) {
}

void PassRunner::Start(Device* device, const float* parameters) {
  device_ = device;
  parameters_ = parameters;
  inputs_.Upload(device);
  loss_->Upload(device, Stream::kMain);
}

void PassRunner::Begin(const TrainingBatch& batch, const DeviceReturns* returns) {
  training_ = &batch;
  returns_ = returns;
}

const float* PassRunner::log_deviations() const {
  return loss_->head().free_deviations() == 0 ? nullptr : parameters_ + deviation_at_;
}

void PassRunner::EnqueueSeen() {
  const PassShape shape = passes_->prepare_shape();
  EnqueueGather(shape, nullptr);
  if (network_.state_floats() > 0)
    rows_.GatherLanes(device_, plan_->control(), plan_->lists(), shape, true);
  network_.Forward(device_, Stream::kMain, parameters_, rows_.rows(shape));
  const DeviceMinibatch rows = rows_.minibatch(shape.rows());
  loss_->head().Evaluate(device_, Stream::kMain,
                         {.outputs = network_.outputs().data(),
                          .log_deviations = log_deviations(),
                          .actions = rows.actions,
                          .mask = rows.mask},
                         shape.rows(), log_prob_.data(), nullptr,
                         loss_->head().has_deviations() ? deviation_.data() : nullptr,
                         plan_->control());
}

DeviceSeenRows PassRunner::seen() const {
  DeviceSeenRows seen = rows_.seen(passes_->prepare_shape().rows());
  seen.values = network_.values().data();
  seen.log_prob = log_prob_.data();
  seen.deviation = loss_->head().has_deviations() ? deviation_.data() : nullptr;
  return seen;
}

/// The rows of the present pass and their inputs.
void PassRunner::EnqueueGather(const PassShape& shape, const DeviceReturns* returns) {
  inputs_.Gather(
      device_, InputsOf(plan_->lists(), shape),
      rows_.ToGather(plan_->control(), plan_->lists(), *training_, *batch_, returns, shape.rows()));
}

InputPass PassRunner::InputsOf(const PassLists& lists, const PassShape& shape) const {
  return {.control = plan_->control(),
          .lists = lists,
          .batch = batch_->Observations(*training_),
          .parameters = parameters_,
          .rows = shape.rows()};
}

/// The rows of an update through the network.
void PassRunner::EnqueueForward() {
  const PassShape burn_in = passes_->burn_in_shape(), shape = passes_->update_shape();
  if (warms()) {
    rows_.GatherLanes(device_, plan_->control(), plan_->burn_in_lists(), burn_in, true);
    inputs_.Gather(device_, InputsOf(plan_->burn_in_lists(), burn_in));
    network_.Forward(device_, Stream::kMain, parameters_, rows_.KeepingState(burn_in),
                     shared_value_);
  }
  if (network_.state_floats() > 0)
    rows_.GatherLanes(device_, plan_->control(), plan_->lists(), shape, !warms());
  EnqueueGather(shape, returns_);
  network_.Forward(device_, Stream::kMain, parameters_, rows_.rows(shape, warms()));
}

void PassRunner::EnqueueLoss(float* gradient) {
  EnqueueForward();
  DeviceMinibatch minibatch = rows_.minibatch(passes_->update_shape().rows());
  minibatch.outputs = network_.outputs().data();
  minibatch.values = network_.values().data();
  minibatch.log_deviations = log_deviations();
  minibatch.d_outputs = network_.d_outputs().data();
  minibatch.d_values = network_.d_values().data();
  if (loss_->head().free_deviations() > 0) minibatch.d_log_deviations = gradient + deviation_at_;
  loss_->Enqueue(device_, Stream::kMain, minibatch, plan_->control());
}

void PassRunner::EnqueueGradient(float* gradient) {
  EnqueueLoss(gradient);
  network_.Backward(device_, Stream::kMain, parameters_,
                    rows_.rows(passes_->update_shape(), warms()), gradient);
}

}  // namespace murmurate
