#pragma once

#include "server/compute/device/calls/gather.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/picture_blocks.h"

namespace murmurate {

/// Where a trajectory's row begins an episode: trajectory.h's kFirst.
inline constexpr std::uint8_t kDeviceFirstFlag = 1;

template <typename T>
MURMURATE_DEVICE const T* OfPass(const PassLists& lists, const TrainingControl* control,
                                 std::size_t offset) {
  return reinterpret_cast<const T*>(lists.lists + lists.pass_bytes * control->pass + offset);
}

/// The row `age` steps before `row` in its episode; null where the episode had not begun.
MURMURATE_DEVICE const std::byte* Earlier(const BatchObservations& batch, int row, int age) {
  const int slot = row / batch.length, first_row = slot * batch.length;
  for (int back = 0; back < age; ++back) {
    const int at = row - back;
    if (at < first_row) break;  // frames0 holds zeros itself where the episode had not begun
    if ((batch.flags[at] & kDeviceFirstFlag) != 0) return nullptr;
  }
  const int earlier = row - age;
  if (earlier >= first_row)
    return batch.observation + batch.row_bytes * static_cast<std::size_t>(earlier);
  const auto frame = static_cast<std::size_t>((slot + 1) * batch.frames + earlier - first_row);
  return batch.frames0 + batch.row_bytes * frame;
}

/// The frame `age` steps before the newest one of a row that the network sees.
MURMURATE_DEVICE const std::byte* FrameOf(const BatchObservations& batch, int row,
                                          std::int32_t source, int age) {
  if (source == PassLists::kOwn) return Earlier(batch, row, age);
  if (age > 0) return Earlier(batch, row, age - 1);
  return source > 0
             ? batch.final_observation + batch.row_bytes * static_cast<std::size_t>(source - 1)
             : batch.next_observation + batch.row_bytes * static_cast<std::size_t>(-source - 1);
}

/// A number of one frame.
MURMURATE_DEVICE float NumberOf(const InputToGather& call, const std::byte* frame, int number) {
  const std::byte* const input = frame + call.offset_bytes;
  switch (call.form) {
    case InputToGather::Form::kBytes:
      return static_cast<float>(reinterpret_cast<const std::uint8_t*>(input)[number]) *
             (1.0f / 255.0f);
    case InputToGather::Form::kCategories:
      return reinterpret_cast<const std::int32_t*>(input)[call.element[number]] ==
                     call.category[number]
                 ? 1.0f
                 : 0.0f;
    case InputToGather::Form::kNormalized: {
      const float scale = 1.0f / sqrtf(call.variance[number] + 1e-8f);
      const float x = (reinterpret_cast<const float*>(input)[number] - call.mean[number]) * scale;
      return fminf(fmaxf(x, -10.0f), 10.0f);
    }
    default:
      return reinterpret_cast<const float*>(input)[number];
  }
}

/// Frames from before the episode began hold zeros, which are data like others: they are normalized.
MURMURATE_DEVICE float ZeroOf(const InputToGather& call, int number) {
  if (call.form == InputToGather::Form::kCategories)
    return call.category[number] == 0 ? 1.0f : 0.0f;
  if (call.form != InputToGather::Form::kNormalized) return 0.0f;
  const float x = -call.mean[number] * (1.0f / sqrtf(call.variance[number] + 1e-8f));
  return fminf(fmaxf(x, -10.0f), 10.0f);
}

template <typename T>
MURMURATE_DEVICE void GatherNumbers(const InputToGather& call) {
  T* const to = static_cast<T*>(call.to);
  const auto width = static_cast<std::size_t>(call.width);
  const std::size_t count = width * static_cast<std::size_t>(call.rows);
  const std::int32_t* const rows =
      OfPass<std::int32_t>(call.lists, call.control, call.lists.row_at);
  const std::int32_t* const sources =
      OfPass<std::int32_t>(call.lists, call.control, call.lists.source_at);
  const int pixel = call.channels * call.stack;
  for (std::size_t i = GlobalThread(); i < count; i += AllThreads()) {
    const std::size_t at = i / width;
    const int j = static_cast<int>(i % width);
    const int frame = j % pixel / call.channels;
    const int place =
        call.block == 1 ? j / pixel : PixelInBlocks(j / pixel, call.columns, call.block);
    const int number = place * call.channels + j % call.channels;
    const std::int32_t source = sources[at];
    if (source == PassLists::kPadding) {
      to[i] = Narrowed<T>(0.0f);
      continue;
    }
    const std::byte* const from = FrameOf(call.batch, rows[at], source, call.stack - 1 - frame);
    to[i] = Narrowed<T>(from == nullptr ? ZeroOf(call, number) : NumberOf(call, from, number));
  }
}

MURMURATE_DEVICE void GatherInput(const InputToGather& call) {
  WithElements(call.type, [&](auto element) { GatherNumbers<decltype(element)>(call); });
}

/// One of the pass's rows; gives its weight.
MURMURATE_DEVICE float GatherRow(const RowsToGather& call, std::size_t i) {
  const auto row = static_cast<std::size_t>(
      OfPass<std::int32_t>(call.lists, call.control, call.lists.row_at)[i]);
  const std::int32_t source =
      OfPass<std::int32_t>(call.lists, call.control, call.lists.source_at)[i];
  const float weight = OfPass<float>(call.lists, call.control, call.lists.weight_at)[i];
  const float counts = source == PassLists::kOwn ? call.batch_weight[row] * weight : 0.0f;
  call.row[i] = source == PassLists::kPadding ? -1 : static_cast<std::int32_t>(row);
  call.source[i] = source;
  call.weight[i] = counts;
  call.behaviour[i] = call.batch_log_prob[row];
  if (call.start_log_prob != nullptr) {
    call.to_start[i] = call.start_log_prob[row];
    call.to_advantage[i] = call.advantage[row];
    call.to_target[i] = call.target[row];
  }
  const auto words = static_cast<std::size_t>(call.words);
  for (std::size_t k = 0; k < words; ++k)
    call.action[i * words + k] = call.batch_action[row * words + k];
  const auto masks = static_cast<std::size_t>(call.mask_bytes);
  for (std::size_t k = 0; k < masks; ++k)
    call.mask[i * masks + k] = call.batch_mask[row * masks + k];
  return counts;
}

MURMURATE_DEVICE void GatherRows(const RowsToGather& call, double* parts) {
  const auto rows = static_cast<std::size_t>(call.rows);
  for (std::size_t first = Block() * std::size_t{kLossRows}; first < rows;
       first += Blocks() * std::size_t{kLossRows}) {
    const std::size_t row = first + Thread();
    const double own = row < rows ? double{GatherRow(call, row)} : 0.0;
    const double sum = SumOverBlock(own, parts);
    if (Thread() == 0) call.weight_parts[first / kLossRows] = sum;
  }
}

MURMURATE_KERNEL(GatherPass) {
  MURMURATE_SHARED(double, parts, 32);
  if (static_cast<int>(GridRow()) < call.inputs)
    GatherInput(call.input[GridRow()]);
  else
    GatherRows(call.rows, parts);
}

MURMURATE_KERNEL(GatherLanes) {
  const std::uint8_t* const first =
      OfPass<std::uint8_t>(call.lists, call.control, call.lists.first_at);
  const float* const state = OfPass<float>(call.lists, call.control, call.lists.state_at);
  for (std::size_t i = GlobalThread(); i < static_cast<std::size_t>(call.rows); i += AllThreads())
    call.first[i] = first[i];
  if (call.state == nullptr) return;
  for (std::size_t i = GlobalThread(); i < static_cast<std::size_t>(call.states); i += AllThreads())
    call.state[i] = state[i];
}

}  // namespace murmurate
