#include "server/stream/own_labels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

bool IsLabelled(StreamDevice* device, std::uint64_t row) {
  for (int i = 0; i < device->shape.targets; ++i)
    if (std::isfinite(device->Target(row, i) - device->RowNaive(row, i))) return true;
  return false;
}

}  // namespace

void OwnLabels::Split(std::span<const double> values, StreamDevice* device) {
  fields_.assign(values.begin(),
                 values.begin() + static_cast<std::ptrdiff_t>(settings_.fields.size()));
  labels_.clear();
  for (std::size_t i = 0; i < settings_.targets.size(); ++i) {
    const auto at = static_cast<std::size_t>(settings_.targets[i]);
    labels_.push_back(Usable(values[at]) ? values[at] : kNaN);
    if (at >= fields_.size()) continue;
    const bool known = device->Floats(Part::kLabelsSeen)[i] > 0;
    fields_[at] = known ? device->Doubles(Part::kLabelLast)[i] : kNaN;
  }
}

bool OwnLabels::IsTarget(int field) const {
  return std::ranges::find(settings_.targets, field) != settings_.targets.end();
}

bool OwnLabels::Whole(std::span<const double> values) const {
  for (int i = 0; i < static_cast<int>(settings_.fields.size()); ++i)
    if (!IsTarget(i) && !Usable(values[static_cast<std::size_t>(i)])) return false;
  return true;
}

void ScoreOwnLabels(const ForecastSettings& settings, StreamDevice* device,
                    ForecastScores* scores) {
  const std::uint64_t row = device->rows - 1;
  for (int i = 0; i < device->shape.targets; ++i)
    if (const double label = device->Target(row, i); std::isfinite(label))
      scores->ScoreOne(device, i, row, label);
  KeepOwnLabels(settings, device->Targets(row), device);
}

void KeepOwnLabels(const ForecastSettings& settings, std::span<const double> labels,
                   StreamDevice* device) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!std::isfinite(labels[i])) continue;
    float& seen = device->Floats(Part::kLabelsSeen)[i];
    double& mean = device->Doubles(Part::kLabelMean)[i];
    mean += double{ForgettingWeight(seen, settings.normalize_over)} * (labels[i] - mean);
    seen = std::min(seen + 1.0f, static_cast<float>(settings.normalize_over));
    device->Doubles(Part::kLabelLast)[i] = labels[i];
  }
}

std::uint32_t CountLabelled(StreamDevice* device, std::uint64_t first, std::uint64_t end) {
  std::uint32_t count = 0;
  for (std::uint64_t row = first; row < end; ++row) count += IsLabelled(device, row) ? 1 : 0;
  return count;
}

}  // namespace murmurate
