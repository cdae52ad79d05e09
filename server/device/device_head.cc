#include "server/device/device_head.h"

#include <algorithm>

#include "server/network/action_head_rows.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

HeadColumn::Kind KindOf(ActionPart::Kind kind) {
  switch (kind) {
    case ActionPart::Kind::kDiscrete:
      return HeadColumn::Kind::kDiscrete;
    case ActionPart::Kind::kBinary:
      return HeadColumn::Kind::kBinary;
    case ActionPart::Kind::kContinuous:
      return HeadColumn::Kind::kContinuous;
  }
  MURMURATE_CHECK(false, "an action's part has one of these kinds");
}

HeadColumn ColumnOf(const ActionColumn& column) {
  return {.kind = KindOf(column.kind),
          .squashed = column.squashed,
          .free_deviation = column.free_deviation,
          .choices = column.choices,
          .word = column.word,
          .output = column.output,
          .deviation = column.deviation,
          .mask_byte = column.mask_byte,
          .part_count = column.part_count};
}

}  // namespace

DeviceHead::DeviceHead(const ModelSpec& spec, DeviceMemory* memory) {
  const ActionLayout layout(spec.spaces.action, spec.continuous);
  MURMURATE_CHECK(!spec.continuous.deterministic, "a deterministic policy has no distribution");
  for (const ActionColumn& column : ActionColumns(layout)) columns_.push_back(ColumnOf(column));
  shape_ = {.columns = nullptr,
            .column_count = static_cast<int>(columns_.size()),
            .words = layout.words(),
            .outputs = layout.outputs(),
            .mask_bytes = layout.mask_bytes(),
            .free_deviations = layout.free_deviations(),
            .deviations = static_cast<int>(
                std::ranges::count(columns_, HeadColumn::Kind::kContinuous, &HeadColumn::kind))};
  on_device_ = memory->Plan<HeadColumn>(MemoryPurpose::kWorkspace, columns_.size());
}

void DeviceHead::Upload(Device* device, Stream stream) const {
  device->CopyIn(stream, on_device_.data(), columns_.data(), on_device_.bytes());
}

void DeviceHead::Evaluate(Device* device, Stream stream, const HeadRows& batch, int rows,
                          float* log_prob, float* entropy, float* deviation) const {
  MURMURATE_CHECK(deviation == nullptr || has_deviations(), "an action without numbers");
  device->Launch(stream, Grid::For(static_cast<std::size_t>(rows)),
                 EvaluateHeadCall{.head = table(),
                                  .batch = batch,
                                  .rows = rows,
                                  .log_prob = log_prob,
                                  .entropy = entropy,
                                  .deviation = deviation});
}

HeadTable DeviceHead::table() const {
  HeadTable table = shape_;
  table.columns = on_device_.data();
  return table;
}

}  // namespace murmurate
