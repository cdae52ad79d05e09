#include "server/device/pass_runner.h"

#include "shared/model/policy_and_value.h"

namespace murmurate {

PassRunner::PassRunner(const ModelSpec& spec, const AlgorithmSettings& settings,
                       const BatchPasses* passes, const DevicePlanRoom* plan,
                       const DeviceBatch* batch, ElementType pictures, DeviceMemory* memory)
    : passes_(passes),
      plan_(plan),
      batch_(batch),
      shared_value_(!spec.Find(kValueNetwork)->shares.empty()),
      inputs_(spec, ParameterLayout(spec), passes->most_rows(), pictures, memory),
      network_(spec, passes->most_rows(), inputs_.inputs(), memory),
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

void PassRunner::EnqueueBegin() {
  device_->Launch(Stream::kMain, {.blocks = 1, .threads = 32}, BeginPassCall{plan_->control()});
}

const float* PassRunner::log_deviations() const {
  return loss_->head().free_deviations() == 0 ? nullptr : parameters_ + deviation_at_;
}

void PassRunner::EnqueueSeen() {
  const PassShape shape = passes_->prepare_shape();
  EnqueueBegin();
  rows_.Gather(device_, plan_->control(), plan_->lists(), *training_, *batch_, nullptr,
               shape.rows());
  if (network_.state_floats() > 0)
    rows_.GatherLanes(device_, plan_->control(), plan_->lists(), shape, true);
  inputs_.Gather(device_, plan_->control(), plan_->lists(), batch_->Observations(*training_),
                 parameters_, shape.rows());
  network_.Forward(device_, Stream::kMain, parameters_, rows_.rows(shape));
  const DeviceMinibatch rows = rows_.minibatch(shape.rows());
  loss_->head().Evaluate(device_, Stream::kMain,
                         {.outputs = network_.outputs().data(),
                          .log_deviations = log_deviations(),
                          .actions = rows.actions,
                          .mask = rows.mask},
                         shape.rows(), log_prob_.data(), nullptr,
                         loss_->head().has_deviations() ? deviation_.data() : nullptr);
}

DeviceSeenRows PassRunner::seen() const {
  DeviceSeenRows seen = rows_.seen(passes_->prepare_shape().rows());
  seen.values = network_.values().data();
  seen.log_prob = log_prob_.data();
  seen.deviation = loss_->head().has_deviations() ? deviation_.data() : nullptr;
  return seen;
}

/// The rows of an update through the network.
void PassRunner::EnqueueForward() {
  EnqueueBegin();
  const PassShape burn_in = passes_->burn_in_shape(), shape = passes_->update_shape();
  const BatchObservations observations = batch_->Observations(*training_);
  if (warms()) {
    rows_.GatherLanes(device_, plan_->control(), plan_->burn_in_lists(), burn_in, true);
    inputs_.Gather(device_, plan_->control(), plan_->burn_in_lists(), observations, parameters_,
                   burn_in.rows());
    network_.Forward(device_, Stream::kMain, parameters_, rows_.KeepingState(burn_in),
                     shared_value_);
  }
  if (network_.state_floats() > 0)
    rows_.GatherLanes(device_, plan_->control(), plan_->lists(), shape, !warms());
  rows_.Gather(device_, plan_->control(), plan_->lists(), *training_, *batch_, returns_,
               shape.rows());
  inputs_.Gather(device_, plan_->control(), plan_->lists(), observations, parameters_,
                 shape.rows());
  network_.Forward(device_, Stream::kMain, parameters_, rows_.rows(shape, warms()));
}

void PassRunner::EnqueueLoss() {
  EnqueueForward();
  DeviceMinibatch minibatch = rows_.minibatch(passes_->update_shape().rows());
  minibatch.outputs = network_.outputs().data();
  minibatch.values = network_.values().data();
  minibatch.log_deviations = log_deviations();
  minibatch.d_outputs = network_.d_outputs().data();
  minibatch.d_values = network_.d_values().data();
  loss_->Enqueue(device_, Stream::kMain, minibatch, plan_->control());
}

void PassRunner::EnqueueGradient(float* gradient) {
  EnqueueLoss();
  network_.Backward(device_, Stream::kMain, parameters_,
                    rows_.rows(passes_->update_shape(), warms()), gradient);
  if (loss_->d_log_deviations() == nullptr) return;
  device_->CopyWithin(Stream::kMain, gradient + deviation_at_, loss_->d_log_deviations(),
                      static_cast<std::size_t>(loss_->head().free_deviations()) * sizeof(float));
}

}  // namespace murmurate
