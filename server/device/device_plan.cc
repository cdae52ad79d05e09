#include "server/device/device_plan.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The parts of a plan, one after the other: counts, slots, steps, rows.
template <typename Byte>
struct PlanParts {
  PlanParts(Byte* block, std::size_t slots_room)
      : counts(block),
        slots(block + sizeof(DevicePlanCounts)),
        steps(slots + slots_room * sizeof(std::int32_t)),
        rows(steps + slots_room * sizeof(std::int32_t)) {}
  Byte *counts, *slots, *steps, *rows;
};

std::size_t PlanBytes(std::size_t slots, std::size_t rows) {
  return sizeof(DevicePlanCounts) + (2 * slots + rows) * sizeof(std::int32_t);
}

}  // namespace

DevicePlanRoom::DevicePlanRoom(const AlgorithmSettings& settings, BatchPasses* passes,
                               DeviceMemory* memory)
    : DeviceControl(memory),
      passes_(passes),
      most_slots_(static_cast<std::size_t>(settings.batch_steps / settings.trajectory_length)),
      most_rows_(static_cast<std::size_t>(settings.batch_steps)),
      plan_bytes_(PlanBytes(most_slots_, most_rows_)),
      plan_block_(memory->Plan<std::byte>(MemoryPurpose::kBatches, plan_bytes_)),
      lists_(memory->Plan<std::byte>(MemoryPurpose::kBatches, passes->most_bytes())) {}

Status DevicePlanRoom::Start(Device* device) {
  MURMURATE_RETURN_IF_ERROR(DeviceControl::Start(device));
  pinned_ = std::make_unique<PinnedBlock>(device, plan_bytes_ + lists_.size());
  if (pinned_->data() == nullptr) return NoPinnedMemory();
  const PlanParts<std::byte> parts(plan_block_.data(), most_slots_);
  plan_ = {.counts = reinterpret_cast<const DevicePlanCounts*>(parts.counts),
           .slots = reinterpret_cast<const std::int32_t*>(parts.slots),
           .steps = reinterpret_cast<const std::int32_t*>(parts.steps),
           .rows = reinterpret_cast<const std::int32_t*>(parts.rows),
           .most_slots = static_cast<int>(most_slots_),
           .most_rows = static_cast<int>(most_rows_)};
  return {};
}

void DevicePlanRoom::LayPlan(const TrainingBatch& batch, const BatchPlan& plan) const {
  const PlanParts<std::byte> parts(host_plan(), most_slots_);
  *reinterpret_cast<DevicePlanCounts*>(parts.counts) = {
      static_cast<std::uint32_t>(plan.slots.size()), static_cast<std::uint32_t>(plan.rows.size())};
  std::ranges::copy(plan.slots, reinterpret_cast<std::int32_t*>(parts.slots));
  std::ranges::transform(plan.slots, reinterpret_cast<std::int32_t*>(parts.steps),
                         [&](int slot) { return batch.trajectories[slot].steps; });
  std::ranges::copy(plan.rows, reinterpret_cast<std::int32_t*>(parts.rows));
}

void DevicePlanRoom::Upload(const TrainingBatch& batch, const BatchPlan& plan,
                            const AlgorithmSettings& settings) {
  std::byte* const lists = host_plan() + plan_bytes_;
  passes_->Lay(batch, plan, lists);
  LayPlan(batch, plan);
  host() = {.learning_rate = static_cast<float>(plan.learning_rate),
            .clip = plan.clip,
            .entropy = plan.entropy,
            .dual_clip = static_cast<float>(settings.dual_clip),
            .value_weight = static_cast<float>(settings.value_weight),
            .most_kl = static_cast<float>(plan.most_kl),
            .scores = plan.scores ? 1u : 0u,
            .first_update = static_cast<std::uint32_t>(passes_->counts().prepare),
            .updates_a_pass = static_cast<std::uint32_t>(plan.updates_a_pass),
            .scored_too = batch.samples == TrainingBatch::Samples::kNew ? 1u : 0u,
            .optimizer_steps = host().optimizer_steps};
  EnqueueControlUp();
  device()->CopyIn(Stream::kMain, plan_block_.data(), host_plan(), plan_bytes_);
  device()->CopyIn(Stream::kMain, lists_.data(), lists, passes_->bytes());
}

}  // namespace murmurate
