// ForecastScores: how good the forecasts of a stream were, of each device, their intervals and the
// whole fleet; and so which of the possible forecasts is published.
//
// The one published is that which has erred least of late, for this device, target and horizon: the
// last value, with a season the value of a season ago, or the model. Its quantiles are those of the
// errors of what was published (quantile_tracker.h); they are no part of what the model learns.
//
// It changes a device's scores, its forecasts at a row and its tracks of quantiles; `i` is a target
// at a horizon.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/stream/forecast.h"
#include "server/stream/page_hinkley.h"
#include "server/stream/quantile_tracker.h"
#include "server/stream/row_maker.h"
#include "shared/model/state.h"

namespace murmurate {

class ForecastScores {
 public:
  /// Means over the last score_over forecasts of all devices, in usual errors of the baseline.
  struct Fleet {
    double model_error = 0, baseline_error = 0, published_error = 0, scored = 0;
    std::uint64_t drifts = 0;  ///< times that the model's errors rose for good
  };

  /// Both outlive it.
  ForecastScores(const ForecastSettings& settings, const DeviceShape& shape);

  /// Scores the forecasts of the next row of a device, which were made before.
  void ScoreRow(StreamDevice* device, const RowValues& row);
  /// Scores those made at `row`, of which `actual` has come.
  void ScoreOne(StreamDevice* device, int i, std::uint64_t row, double actual);
  /// So many forecasts were scored that their errors say something.
  bool Known(float scored) const;
  /// Turns the network's output for the newest row into what is published, with its quantiles,
  /// which are kept to be scored. The spans in it are of `device`.
  Prediction Choose(StreamDevice* device, int i, float output);

  const Fleet& fleet() const { return fleet_; }
  /// Saves what all devices share: the fleet's errors and drift, and where quantiles start.
  /// Checkpoints of format 1 have no quantiles.
  void Save(const StateWriter& writer) const;
  Status Load(std::uint64_t drifts, bool quantiles, const StateReader& reader);

 private:
  struct Errors {
    float model, baseline, published;
  };
  bool SeasonLeads(StreamDevice* device, int i) const;
  void ScoreFleet(StreamDevice* device, int i, const Errors& errors);
  void ScoreInterval(StreamDevice* device, int i, bool inside) const;
  void ScoreSeason(StreamDevice* device, int i, float error) const;

  const ForecastSettings& settings_;
  const DeviceShape& shape_;
  std::vector<QuantileTracker> trackers_;  ///< [scores], with quantiles
  std::vector<float> offsets_;             ///< [quantiles]
  PageHinkley drift_;
  Fleet fleet_;
};

}  // namespace murmurate
