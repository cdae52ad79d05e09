// How good the forecasts of Forecaster were: of each device, its intervals and the whole fleet.
#include <algorithm>
#include <cmath>
#include <limits>

#include "server/stream/forecaster.h"

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kMostErrors = 10.0f;  ///< that one counts as, in usual ones

}  // namespace

/// The forecasts of this row that were made before.
void Forecaster::ScoreRow(Device* device, std::span<const double> values) {
  for (int target = 0; target < shape_.targets; ++target) {
    const double actual = ActualOf(target, values);
    for (int j = 0; j < shape_.horizons; ++j) {
      const auto horizon = static_cast<std::uint64_t>(settings_.horizons[j]);
      if (device->rows < horizon) break;  // they ascend
      ScoreOne(device, target * shape_.horizons + j, device->rows - horizon, actual);
    }
  }
}

/// So many forecasts were scored that their errors say something.
bool Forecaster::Known(float scored) const {
  return scored >= std::min(kScoredBefore, static_cast<float>(settings_.score_over));
}

/// Of the two naive forecasts, the season's is the better one.
bool Forecaster::SeasonLeads(Device* device, int i) const {
  if (settings_.season == 0 || !Known(device->SeasonAt(i).count)) return false;
  return device->SeasonAt(i).error < device->ScoreAt(i).baseline;
}

/// What the season said at `row`; NaN where it is not known.
double Forecaster::SeasonOf(Device* device, int i, std::uint64_t row) const {
  const int horizon = settings_.horizons[static_cast<std::size_t>(i % shape_.horizons)];
  return device->Seasonal(row, i / shape_.horizons, horizon, settings_.season);
}

/// The forecasts made at `row`.
void Forecaster::ScoreOne(Device* device, int i, std::uint64_t row, double actual) {
  const int each = shape_.outputs / shape_.scores;
  const auto outputs = device->Forecasts(row).subspan(static_cast<std::size_t>(i * each));
  const auto source = static_cast<Source>(device->ByModel(row)[i]);
  const double last = device->Last(row, i / shape_.horizons);
  const double then = settings_.season > 0 ? SeasonOf(device, i, row) : kNaN;
  const double season = std::isfinite(then) ? then : last;
  const double said = source == Source::kModel  ? outputs[0]
                      : source == Source::kLast ? last
                                                : season;
  const auto error_of = [actual](double forecast) {
    return static_cast<float>(std::abs(actual - forecast));
  };
  if (!std::isfinite(error_of(outputs[0])) || !std::isfinite(error_of(last))) return;
  ScoreFleet(
      device, i,
      {error_of(outputs[0]), error_of(SeasonLeads(device, i) ? season : last), error_of(said)});
  Score& score = device->ScoreAt(i);
  const float weight = ForgettingWeight(score.count, settings_.score_over);
  score.model += weight * (error_of(outputs[0]) - score.model);
  score.baseline += weight * (error_of(last) - score.baseline);
  score.published += weight * (error_of(said) - score.published);
  if (each > 2 && std::isfinite(outputs[1]))
    ScoreInterval(device, i, actual >= outputs[1] && actual <= outputs[each - 1]);
  score.count = std::min(score.count + 1.0f, static_cast<float>(settings_.score_over));
  if (std::isfinite(then)) ScoreSeason(device, i, error_of(then));
  if (!trackers_.empty()) {
    for (std::size_t j = 0; j < offsets_.size(); ++j)
      offsets_[j] = static_cast<float>(outputs[j + 1] - said);
    trackers_[static_cast<std::size_t>(i)].Take(static_cast<float>(actual - said), offsets_,
                                                device->Track(i));
  }
  float& scaled = device->block[shape_.scaled + static_cast<std::size_t>(i)];
  float& scale = device->block[shape_.scale + static_cast<std::size_t>(i)];
  scale += ForgettingWeight(scaled, settings_.normalize_over) *
           (error_of(last) * error_of(last) - scale);
  scaled = std::min(scaled + 1.0f, static_cast<float>(settings_.normalize_over));
}

void Forecaster::ScoreInterval(Device* device, int i, bool inside) const {
  float& count = device->block[shape_.intervals + static_cast<std::size_t>(i)];
  float& share = device->ScoreAt(i).inside;
  share += ForgettingWeight(count, settings_.score_over) * ((inside ? 1.0f : 0.0f) - share);
  count = std::min(count + 1.0f, static_cast<float>(settings_.score_over));
}

void Forecaster::ScoreSeason(Device* device, int i, float error) const {
  SeasonScore& score = device->SeasonAt(i);
  score.error += ForgettingWeight(score.count, settings_.score_over) * (error - score.error);
  score.count = std::min(score.count + 1.0f, static_cast<float>(settings_.score_over));
}

/// In the device's usual errors; a device's first error is one of them. The drift test waits until
/// it knows from enough errors what is usual for the device.
void Forecaster::ScoreFleet(Device* device, int i, const Errors& errors) {
  const bool first = device->block[shape_.scaled + static_cast<std::size_t>(i)] == 0.0f;
  const double usual = first && errors.baseline > 0 ? errors.baseline : device->UsualError(i);
  // Cut as labels are: after a flat line the usual error is next to nothing.
  const auto usuals = [usual](float error) { return std::min<double>(error / usual, kMostErrors); };
  const double share = 1.0 / (1.0 + std::min<double>(totals_.scored, settings_.score_over));
  totals_.model_error += share * (usuals(errors.model) - totals_.model_error);
  totals_.baseline_error += share * (usuals(errors.baseline) - totals_.baseline_error);
  totals_.published_error += share * (usuals(errors.published) - totals_.published_error);
  ++totals_.scored;
  if (Known(device->ScoreAt(i).count) && drift_.Take(usuals(errors.model))) ++totals_.drifts;
}

}  // namespace murmurate
