#pragma once

#include "server/compute/device/calls/replay.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/gather.h"
#include "server/compute/device/kernels/loss.h"

namespace murmurate {

/// The present pass's list at `offset`.
template <typename T>
MURMURATE_DEVICE const T* OfReplay(const ReplayLists& lists, const TrainingControl* control,
                                   std::size_t offset) {
  return OfPass<T>(lists.rows, control, offset);
}

/// The mean over the variables of `values` at the choice that is best by `by`, of those allowed.
MURMURATE_DEVICE double ValueOfBest(const HeadTable& head, const float* by, const float* values,
                                    const std::uint8_t* mask) {
  const HeadRow row{by, nullptr, nullptr, mask};
  double sum = 0.0;
  for (int c = 0; c < head.column_count; ++c) {
    const int best = Likeliest(head.columns[c], row);
    if (best >= 0) sum += double{values[head.columns[c].output + best]};
  }
  return sum / head.column_count;
}

/// What the values of a step's choices are to be.
MURMURATE_DEVICE float ChoiceTarget(const ChoiceLossCall& call, std::size_t i) {
  const float reward = OfReplay<float>(call.lists, call.control, call.lists.reward_at)[i];
  const float discount = OfReplay<float>(call.lists, call.control, call.lists.discount_at)[i];
  if (discount == 0.0f) return reward;
  const auto outputs = static_cast<std::size_t>(call.head.outputs);
  const float* const target_q = call.target_q + i * outputs;
  const float* const q = call.q + (static_cast<std::size_t>(call.rows) + i) * outputs;
  const std::uint8_t* const mask =
      OfReplay<std::uint8_t>(call.lists, call.control, call.lists.mask_at) +
      i * static_cast<std::size_t>(call.head.mask_bytes);
  return reward + discount * static_cast<float>(ValueOfBest(call.head, call.double_q ? q : target_q,
                                                            target_q, mask));
}

/// Sums and gradients of a step, one of `steps`.
MURMURATE_DEVICE void ChoiceLossOfStep(const ChoiceLossCall& call, std::size_t i, float steps,
                                       double* sums) {
  const auto outputs = static_cast<std::size_t>(call.head.outputs);
  const std::int32_t* const action =
      OfReplay<std::int32_t>(call.lists, call.control, call.lists.action_at) +
      i * static_cast<std::size_t>(call.head.words);
  const float weight = OfReplay<float>(call.lists, call.control, call.lists.weight_at)[i];
  const float target = ChoiceTarget(call, i);
  const int variables = call.head.column_count;
  const float part = weight / steps / static_cast<float>(variables);
  double distance = 0.0;
  for (int c = 0; c < variables; ++c) {
    const HeadColumn& column = call.head.columns[c];
    const std::size_t at = i * outputs + static_cast<std::size_t>(column.output) +
                           static_cast<std::size_t>(action[column.word]);
    const float error = call.q[at] - target, size = fabsf(error);
    call.d_q[at] = part * (error > 1.0f ? 1.0f : error < -1.0f ? -1.0f : error);
    sums[1] += double{weight} * (size <= 1.0f ? 0.5 * double{size} * size : double{size} - 0.5) /
               variables;
    sums[2] += (double{error} + double{target}) / variables;
    distance += double{size};
  }
  distance /= variables;
  sums[0] = 1.0;
  sums[3] = distance;
  call.distance[call.control->pass * static_cast<std::size_t>(call.rows) + i] =
      static_cast<float>(distance);
}

MURMURATE_KERNEL(ChoiceLoss) {
  MURMURATE_SHARED(double, parts, 32);
  const ReplayHead head = *OfReplay<ReplayHead>(call.lists, call.control, call.lists.head_at);
  const std::size_t row = GlobalThread();
  double sums[kReplaySums] = {};
  if (row < static_cast<std::size_t>(call.rows)) {
    const auto outputs = static_cast<std::size_t>(call.head.outputs);
    for (std::size_t j = 0; j < outputs; ++j) call.d_q[row * outputs + j] = 0.0f;
    if (row < static_cast<std::size_t>(head.steps))
      ChoiceLossOfStep(call, row, static_cast<float>(head.steps), sums);
  }
  LeaveSums(sums, kReplaySums, parts, call.parts + Block() * kReplaySums);
}

MURMURATE_KERNEL(CopyKeptRows) {
  const auto words = static_cast<std::size_t>(call.words);
  EachOfMatrix(call.rows, call.words, [&](std::size_t i, std::size_t row, int word) {
    const std::uint32_t name = call.names[row];
    call.to[i] = name == CopyKeptRowsCall::kZeros
                     ? 0
                     : call.kept[(name - 1) * words + static_cast<std::size_t>(word)];
  });
}

MURMURATE_KERNEL(FinishReplay) {
  MURMURATE_SHARED(double, parts, 32);
  double sums[kReplaySums];
  for (int i = 0; i < kReplaySums; ++i)
    sums[i] = SumOfParts(call.parts + i, call.blocks, kReplaySums, parts);
  if (Thread() != 0) return;
  ++call.control->pass;
  if (!call.counts) return;
  ++call.control->begun;
  for (int i = 0; i < kReplaySums; ++i) call.control->sums[i] += sums[i];
}

MURMURATE_KERNEL(MoveTargets) {
  const auto* const head = reinterpret_cast<const ReplayHead*>(
      call.lists.rows.lists + call.lists.rows.pass_bytes * (call.control->pass - 1) +
      call.lists.head_at);
  const float part = head->target_part;
  if (!(part > 0.0f) || call.control->finite == 0) return;
  for (int t = 0; t < call.count; ++t) {
    const TargetTensor tensor = call.tensors[t];
    const float* const from = call.parameters + tensor.from;
    float* const to = call.parameters + tensor.to;
    for (std::size_t i = GlobalThread(); i < tensor.count; i += AllThreads())
      to[i] = part >= 1.0f ? from[i] : to[i] + part * (from[i] - to[i]);
  }
}

}  // namespace murmurate
