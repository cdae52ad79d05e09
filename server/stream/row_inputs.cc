#include "server/stream/row_inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kMostDeviations = 10.0f;  ///< as normalized observations are cut

/// `distance` in units of `usual`, which is not 0.
float Cut(double distance, double usual) {
  return std::clamp(static_cast<float>(distance / usual), -kMostDeviations, kMostDeviations);
}

/// The distance of a season ago from now, as the model sees it: less, the worse the season is. In
/// usual errors of the last value alone it would be far away and drown what the model can use.
float SeasonInput(StreamDevice* device, int i, double away) {
  const float usual = device->TypicalError(i), season = device->SeasonAt(i).error;
  const float last = device->ScoreAt(i).baseline;
  return Cut(away, std::max(usual, season)) * (season > last ? last / season : 1.0f);
}

/// The newest row's input for the gap before it, in usual gaps. The gap before a beginning is no
/// usual one, and one row fewer than were seen had a gap.
float GapInput(const ForecastSettings& settings, StreamDevice* device, float gap_s) {
  if (gap_s == MessageOrder::kUnknownGap) return 0.0f;
  float& usual = device->typical_gap_s;
  if (device->rows > 0)
    usual += ForgettingWeight(std::max(device->seen - 2.0f, 0.0f), settings.normalize_over) *
             (gap_s - usual);
  return usual > 0 ? Cut(gap_s - usual, usual) : 0.0f;
}

/// Puts the input that labels add to the newest row: the naive forecast, which is the label of the
/// newest row that has one, and for the model how far that lies from usual labels. `labels`: the
/// row's own; none when they come later.
void PutLastLabel(std::span<const double> labels, StreamDevice* device, std::span<float> inputs) {
  const auto last = device->Doubles(Part::kLabelLast), mean = device->Doubles(Part::kLabelMean);
  const auto seen = device->Floats(Part::kLabelsSeen);
  for (int i = 0; i < device->shape.targets; ++i) {
    const bool known = labels.empty() ? device->label_row > 0 : seen[i] > 0;
    const double naive = known ? last[i] : kNaN;
    device->Target(device->rows, i) = labels.empty() ? kNaN : labels[i];
    device->RowNaive(device->rows, i) = naive;
    const auto away = static_cast<float>((naive - mean[i]) / device->TypicalError(i));
    inputs[i] = std::isfinite(away) ? std::clamp(away, -kMostDeviations, kMostDeviations) : 0.0f;
  }
}

}  // namespace

void PutRow(const ForecastSettings& settings, const RowValues& values,
            std::span<const double> labels, float gap_s, StreamDevice* device) {
  const DeviceShape& shape = device->shape;
  const auto mean = device->Doubles(Part::kMean), last = device->Doubles(Part::kValue);
  const auto variance = device->Floats(Part::kVariance), change = device->Floats(Part::kChange);
  const auto row = device->Row(device->rows);
  const float weight = ForgettingWeight(device->seen, settings.normalize_over);
  const bool follows = device->rows > 0;
  std::size_t at = 0;
  for (int i = 0; i < shape.fields; ++i) {
    const double value = values.values[i];
    const auto distance = static_cast<float>(value - mean[i]);
    mean[i] += static_cast<double>(weight) * (value - mean[i]);
    variance[i] = (1.0f - weight) * (variance[i] + weight * distance * distance);
    const float step = follows ? static_cast<float>(value - last[i]) : 0.0f;
    if (follows) change[i] += weight * (step * step - change[i]);
    row[at++] = variance[i] > 0 ? Cut(value - mean[i], std::sqrt(variance[i])) : 0.0f;
    row[at++] = change[i] > 0 ? Cut(step, std::sqrt(change[i])) : 0.0f;
    last[i] = value;
  }
  device->seen = std::min(device->seen + 1.0f, static_cast<float>(settings.normalize_over));
  for (int i = 0; !settings.labelled() && i < shape.targets; ++i)
    device->Target(device->rows, i) = values.Actual(settings.targets[i]);
  if (settings.every_s <= 0) row[at++] = GapInput(settings, device, gap_s);
  for (int i = 0; settings.season > 0 && i < shape.targets; ++i) {
    const double now = values.values[static_cast<std::size_t>(settings.targets[i])];
    const double then = device->Seasonal(device->rows, i * shape.horizons);
    row[at++] =
        std::isfinite(then - now) ? SeasonInput(device, i * shape.horizons, then - now) : 0.0f;
  }
  if (settings.labelled()) PutLastLabel(labels, device, row.subspan(at));
}

}  // namespace murmurate
