#include "server/stream/label_join.h"

#include <algorithm>
#include <string_view>

#include "server/stream/late_labels.h"

namespace murmurate {

Refusal LabelJoin::Consume(const Sample& label, std::int64_t arrival_ns) {
  if (label.id.empty()) return Refusal::kNoId;
  const std::shared_ptr<StreamDevice> device = parts_.table.Find(label.device);
  std::uint64_t row = 0;
  const Refusal refusal =
      device == nullptr ? Refusal::kUnknownId : FindLabelRow(*device, label, &row);
  if (refusal == Refusal::kUnknownId) return Keep(label, arrival_ns);
  if (refusal != Refusal::kNone) return refusal;
  if (device->due) parts_.predict();  // perhaps of this row
  Apply(device, row, label.values);
  return Refusal::kNone;
}

/// The sample has not come, or too long ago.
Refusal LabelJoin::Keep(const Sample& label, std::int64_t arrival_ns) {
  if (parts_.settings.early_labels == 0) return Refusal::kUnknownId;
  if (!std::ranges::all_of(label.values, Usable)) return Refusal::kMissingField;
  const std::shared_ptr<StreamDevice> device = parts_.table.FindOrAdd(label.device, arrival_ns);
  if (device == nullptr) return Refusal::kTooManyDevices;
  const std::uint64_t id = LabelSlots::HashOf(label.id);
  if (device->early->Has(id)) return Refusal::kDuplicate;
  counts_.unmatched += device->early->Keep(id, device->rows, label.values);
  return Refusal::kNone;
}

void LabelJoin::BeginRow(const std::shared_ptr<StreamDevice>& device, std::uint64_t id) {
  parts_.pairs.AwaitLabel(device.get(), id);
  if (device->early->size() == 0) return;
  if (device->early->Take(id, &values_)) {
    parts_.predict();
    Apply(device, device->rows - 1, values_);
  }
  const auto window = static_cast<std::uint64_t>(parts_.settings.label_window);
  counts_.unmatched += device->early->Expire(device->rows, window);
}

void LabelJoin::Apply(const std::shared_ptr<StreamDevice>& device, std::uint64_t row,
                      std::span<const double> values) {
  ApplyLabel(parts_.settings, row, values, device.get(), &parts_.scores);
  parts_.pairs.AddLabel(device, row);
}

void LabelJoin::Forget(const StreamDevice& device) {
  if (device.early) counts_.unmatched += device.early->size();
}

bool LabelJoin::Knows(const Sample& label) const {
  const auto& all = parts_.table.all();
  const auto found = all.find(std::string_view(label.device));
  return found != all.end() && !label.id.empty() &&
         found->second->labels.Find(LabelSlots::HashOf(label.id), found->second->rows);
}

std::size_t LabelJoin::waiting() const {
  std::size_t labels = 0;
  for (const auto& [name, device] : parts_.table.all())
    if (device->early) labels += device->early->size();
  return labels;
}

}  // namespace murmurate
