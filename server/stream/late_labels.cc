#include "server/stream/late_labels.h"

#include <algorithm>

namespace murmurate {
namespace {

void ApplyValue(const ForecastSettings& settings, std::uint64_t row, int i, double value,
                StreamDevice* device, ForecastScores* scores) {
  const DeviceShape& shape = device->shape;
  const auto each = static_cast<std::size_t>(shape.outputs / shape.scores);
  const auto made = device->Forecasts(row).subspan(static_cast<std::size_t>(i) * each, each);
  const bool interval = each > 2 && scores->Known(device->ScoreAt(i).count);
  const bool outside = interval && (value < made[1] || value > made[each - 1]);
  scores->ScoreOne(device, i, row, value);
  device->Target(row, i) = value;
  double& mean = device->Doubles(Part::kLabelMean)[i];
  mean += (value - mean) /
          std::min<double>(device->Floats(Part::kLabelsSeen)[0] + 1.0, settings.normalize_over);
  if (row + 1 < device->label_row) return;
  device->Doubles(Part::kLabelLast)[i] = value;
  device->Floats(Part::kLabelOutside)[i] = outside ? 1.0f : 0.0f;
}

}  // namespace

Refusal CheckLabelId(const StreamDevice& device, std::string_view id, std::uint64_t* hash) {
  if (id.empty()) return Refusal::kNoId;
  *hash = LabelSlots::HashOf(id);
  return device.labels.Find(*hash, device.rows) ? Refusal::kDuplicate : Refusal::kNone;
}

Refusal FindLabelRow(const StreamDevice& device, const Sample& label, std::uint64_t* row) {
  const auto found = device.labels.Find(LabelSlots::HashOf(label.id), device.rows);
  if (!found) return Refusal::kUnknownId;
  if (device.labels.StateOf(*found) != LabelSlots::State::kOpen) return Refusal::kDuplicate;
  if (!std::ranges::all_of(label.values, Usable)) return Refusal::kMissingField;
  *row = *found;
  return Refusal::kNone;
}

void ApplyLabel(const ForecastSettings& settings, std::uint64_t row, std::span<const double> values,
                StreamDevice* device, ForecastScores* scores) {
  for (int i = 0; i < device->shape.targets; ++i)
    ApplyValue(settings, row, i, values[i], device, scores);
  float& seen = device->Floats(Part::kLabelsSeen)[0];
  seen = std::min(seen + 1.0f, static_cast<float>(settings.normalize_over));
  device->label_row = std::max(device->label_row, row + 1);
}

}  // namespace murmurate
