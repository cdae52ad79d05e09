#include "server/device/gathered_rows.h"

#include <algorithm>

namespace murmurate {

GatheredRows::GatheredRows(const ModelSpec& spec, int most_rows, int most_lanes, int state_floats,
                           DeviceMemory* memory)
    : words_(ActionLayout(spec.spaces.action, spec.continuous).words()),
      mask_bytes_(ActionLayout(spec.spaces.action, spec.continuous).mask_bytes()),
      state_floats_(state_floats) {
  const auto rows = static_cast<std::size_t>(most_rows);
  const auto plan = [&]<typename T>(DeviceArray<T>* array, std::size_t each) {
    *array = memory->Plan<T>(MemoryPurpose::kActivations, rows * each);
  };
  plan(&row_, 1);
  plan(&source_, 1);
  plan(&action_, static_cast<std::size_t>(words_));
  plan(&mask_, static_cast<std::size_t>(mask_bytes_));
  for (auto* column : {&weight_, &behaviour_, &start_, &advantage_, &target_}) plan(column, 1);
  weight_parts_ =
      memory->Plan<double>(MemoryPurpose::kActivations, Grid::For(rows, kLossRows).blocks);
  if (state_floats == 0) return;
  plan(&first_, 1);
  const std::size_t states =
      static_cast<std::size_t>(most_lanes) * static_cast<std::size_t>(state_floats);
  state_ = memory->Plan<float>(MemoryPurpose::kActivations, states);
  state_after_ = memory->Plan<float>(MemoryPurpose::kActivations, states);
}

RowsToGather GatheredRows::ToGather(const TrainingControl* control, const PassLists& lists,
                                    const TrainingBatch& batch, const DeviceBatch& columns,
                                    const DeviceReturns* returns, int rows) const {
  return {.control = control,
          .lists = lists,
          .batch_action = columns.Column(batch, batch.action),
          .batch_mask = columns.Column(batch, batch.mask),
          .batch_weight = columns.Column(batch, batch.weight),
          .batch_log_prob = columns.Column(batch, batch.log_prob),
          .start_log_prob = returns != nullptr ? returns->start_log_prob() : nullptr,
          .advantage = returns != nullptr ? returns->advantage() : nullptr,
          .target = returns != nullptr ? returns->target() : nullptr,
          .row = row_.data(),
          .source = source_.data(),
          .action = action_.data(),
          .mask = mask_.data(),
          .weight = weight_.data(),
          .behaviour = behaviour_.data(),
          .to_start = start_.data(),
          .to_advantage = advantage_.data(),
          .to_target = target_.data(),
          .weight_parts = weight_parts_.data(),
          .rows = rows,
          .words = words_,
          .mask_bytes = mask_bytes_};
}

void GatheredRows::GatherLanes(Device* device, const TrainingControl* control,
                               const PassLists& lists, const PassShape& shape, bool states) const {
  const GatherLanesCall call{.control = control,
                             .lists = lists,
                             .first = first_.data(),
                             .state = states ? state_.data() : nullptr,
                             .rows = shape.rows(),
                             .states = shape.lanes * state_floats_};
  device->Launch(Stream::kMain,
                 Grid::For(static_cast<std::size_t>(std::max(call.rows, call.states))), call);
}

DeviceMinibatch GatheredRows::minibatch(int rows) const {
  return {.rows = rows,
          .actions = action_.data(),
          .mask = mask_.data(),
          .weight_parts = weight_parts_.data(),
          .weight = weight_.data(),
          .behaviour_log_prob = behaviour_.data(),
          .start_log_prob = start_.data(),
          .advantage = advantage_.data(),
          .value_target = target_.data()};
}

DeviceSeenRows GatheredRows::seen(int rows) const {
  return {.rows = rows, .row = row_.data(), .source = source_.data()};
}

DeviceRows GatheredRows::rows(const PassShape& shape, bool after) const {
  DeviceRows rows{.rows = shape.rows()};
  if (state_floats_ == 0) return rows;
  rows.steps = shape.steps;
  rows.lanes = shape.lanes;
  rows.first = first_.data();
  rows.state0 = after ? state_after_.data() : state_.data();
  return rows;
}

DeviceRows GatheredRows::KeepingState(const PassShape& shape) const {
  DeviceRows kept = rows(shape);
  kept.state_out = state_after_.data();
  return kept;
}

}  // namespace murmurate
