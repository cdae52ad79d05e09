#include "server/stream/forecast_scores.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kMostErrors = 10.0f;  ///< that one counts as, in usual ones
/// So many forecasts of a device must have been scored before the model's can be published, or a
/// value can be outside of what it said.
constexpr float kScoredBefore = 20.0f;

}  // namespace

ForecastScores::ForecastScores(const ForecastSettings& settings, const DeviceShape& shape)
    : settings_(settings),
      shape_(shape),
      offsets_(settings.quantiles.size()),
      drift_(settings.drift) {
  for (int i = 0; !settings.quantiles.empty() && i < shape.scores; ++i)
    trackers_.emplace_back(settings.quantiles,
                           settings.horizons[static_cast<std::size_t>(i % shape.horizons)]);
}

void ForecastScores::ScoreRow(StreamDevice* device, const RowValues& row) {
  for (int target = 0; target < shape_.targets; ++target) {
    const double actual = row.Actual(settings_.targets[target]);
    for (int j = 0; j < shape_.horizons; ++j) {
      const auto horizon = static_cast<std::uint64_t>(settings_.horizons[j]);
      if (device->rows < horizon) break;  // they ascend
      ScoreOne(device, target * shape_.horizons + j, device->rows - horizon, actual);
    }
  }
}

bool ForecastScores::Known(float scored) const {
  return scored >= std::min(kScoredBefore, static_cast<float>(settings_.score_over));
}

/// True: of the two naive forecasts, the season's is the better one.
bool ForecastScores::SeasonLeads(StreamDevice* device, int i) const {
  if (settings_.season == 0 || !Known(device->SeasonAt(i).count)) return false;
  return device->SeasonAt(i).error < device->ScoreAt(i).baseline;
}

void ForecastScores::ScoreOne(StreamDevice* device, int i, std::uint64_t row, double actual) {
  const int each = shape_.outputs / shape_.scores;
  const auto outputs = device->Forecasts(row).subspan(static_cast<std::size_t>(i * each));
  const auto source = static_cast<Source>(device->ByModel(row)[i]);
  const double last = device->Last(row, i / shape_.horizons);
  const double then = settings_.season > 0 ? device->Seasonal(row, i) : kNaN;
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
    trackers_[static_cast<std::size_t>(i)].Update(static_cast<float>(actual - said), offsets_,
                                                  device->Track(i));
  }
  float& scaled = device->Floats(Part::kScaled)[i];
  float& scale = device->Floats(Part::kScale)[i];
  scale += ForgettingWeight(scaled, settings_.normalize_over) *
           (error_of(last) * error_of(last) - scale);
  scaled = std::min(scaled + 1.0f, static_cast<float>(settings_.normalize_over));
}

void ForecastScores::ScoreInterval(StreamDevice* device, int i, bool inside) const {
  float& count = device->Floats(Part::kIntervals)[i];
  float& share = device->ScoreAt(i).inside;
  share += ForgettingWeight(count, settings_.score_over) * ((inside ? 1.0f : 0.0f) - share);
  count = std::min(count + 1.0f, static_cast<float>(settings_.score_over));
}

void ForecastScores::ScoreSeason(StreamDevice* device, int i, float error) const {
  SeasonScore& score = device->SeasonAt(i);
  score.error += ForgettingWeight(score.count, settings_.score_over) * (error - score.error);
  score.count = std::min(score.count + 1.0f, static_cast<float>(settings_.score_over));
}

/// Errors count in the device's usual ones; a device's first error is one of them. The drift test
/// waits until it knows from enough errors what is usual for the device.
void ForecastScores::ScoreFleet(StreamDevice* device, int i, const Errors& errors) {
  const bool first = device->Floats(Part::kScaled)[i] == 0.0f;
  const double usual = first && errors.baseline > 0 ? errors.baseline : device->TypicalError(i);
  // Cut as labels are: after a flat line the usual error is next to nothing.
  const auto usuals = [usual](float error) { return std::min<double>(error / usual, kMostErrors); };
  const double share = 1.0 / (1.0 + std::min<double>(fleet_.scored, settings_.score_over));
  fleet_.model_error += share * (usuals(errors.model) - fleet_.model_error);
  fleet_.baseline_error += share * (usuals(errors.baseline) - fleet_.baseline_error);
  fleet_.published_error += share * (usuals(errors.published) - fleet_.published_error);
  ++fleet_.scored;
  if (Known(device->ScoreAt(i).count) && drift_.Update(usuals(errors.model))) ++fleet_.drifts;
}

Prediction ForecastScores::Choose(StreamDevice* device, int i, float output) {
  const std::uint64_t row = device->rows - 1;
  const auto each = static_cast<std::size_t>(shape_.outputs / shape_.scores);
  const auto kept = device->Forecasts(row).subspan(static_cast<std::size_t>(i) * each, each);
  const double last = device->Last(row, i / shape_.horizons);
  kept[0] = last + (std::isfinite(output) ? double{device->TypicalError(i)} * output : 0.0);
  Prediction made;
  const bool season = SeasonLeads(device, i);
  made.model = kept[0];
  const double then = season ? device->Seasonal(row, i) : last;
  made.baseline = std::isfinite(then) ? then : last;
  made.score = device->ScoreAt(i);
  if (season) made.score.baseline = device->SeasonAt(i).error;
  made.by_model = Known(made.score.count) && made.score.model < made.score.baseline;
  made.published = made.by_model ? made.model : made.baseline;
  made.quantiles = kept.subspan(1);
  device->ByModel(row)[i] = static_cast<float>(made.by_model ? Source::kModel
                                               : season      ? Source::kSeason
                                                             : Source::kLast);
  if (trackers_.empty()) return made;
  if (device->Floats(Part::kIntervals)[i] == 0.0f)
    made.score.inside = std::numeric_limits<float>::quiet_NaN();
  trackers_[static_cast<std::size_t>(i)].WriteOffsets(device->Track(i), offsets_);
  for (std::size_t j = 0; j < offsets_.size(); ++j) kept[1 + j] = made.published + offsets_[j];
  return made;
}

void ForecastScores::Save(const StateWriter& writer) const {
  writer.Doubles("errors", {{fleet_.model_error, fleet_.baseline_error, fleet_.published_error,
                             fleet_.scored}});
  const PageHinkley::State& drift = drift_.state();
  writer.Doubles("drift", {{drift.count, drift.mean, drift.sum, drift.lowest}});
  std::vector<float> pools;
  for (const QuantileTracker& tracker : trackers_)
    pools.insert(pools.end(), tracker.pool().begin(), tracker.pool().end());
  writer.Floats("pools", pools);
}

Status ForecastScores::Load(std::uint64_t drifts, bool quantiles, const StateReader& reader) {
  std::array<double, 4> errors{}, drift{};
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("errors", errors));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("drift", drift));
  fleet_ = {errors[0], errors[1], errors[2], errors[3], drifts};
  drift_.GoOnFrom({drift[0], drift[1], drift[2], drift[3]});
  const std::size_t each = settings_.quantiles.size();
  std::vector<float> pools(trackers_.size() * each);
  if (!quantiles || pools.empty()) return {};
  MURMURATE_RETURN_IF_ERROR(reader.Floats("pools", pools));
  for (std::size_t i = 0; i < trackers_.size(); ++i)
    trackers_[i].GoOnFrom(std::span(pools).subspan(i * each, each));
  return {};
}

}  // namespace murmurate
