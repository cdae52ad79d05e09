// DeviceShape: where each kind of number lies in the two blocks that a stream keeps of a device:
// doubles in the targets' and fields' own units, since a counter at 123,456,789 that moves by 3 is
// no float32, and float32 for differences, deviations and states. Every kind is one Part; a
// checkpoint has each under its name.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/stream/stream_settings.h"

namespace murmurate {

/// Numbers of one row: of each field its value and its change, both in usual deviations; without a
/// grid the gap before it, in usual gaps; with a season, of each target how far its value a season
/// before the first horizon is from now, in usual errors of the last value; with labels, of each
/// target how far its last label is from its usual ones, in the same errors.
int InputsOf(const ForecastSettings& settings);
/// Numbers that the model gives for one row: targets x horizons x (1 + quantiles), in this order;
/// the first of each is the forecast itself, counted from the last value, in its usual error. The
/// others are not used (QuantileTracker makes the quantiles): models have them so that runs whose
/// models learned them go on.
int OutputsOf(const ForecastSettings& settings);

/// A plain model learns from at most so many open pairs of a device: each has a window of its own.
inline constexpr int kPlainOpen = 16;

/// Horizons `begin` to `end` - 1 that are learned in the same sequences.
struct HorizonGroup {
  int begin, end;
  int nearest;  ///< rows ahead of the first of them
};

/// Score rates the last forecasts of one target at one horizon: means over score_over that forget.
struct Score {
  float model = 0, baseline = 0, published = 0;  ///< |error|, in the target's unit
  float inside = 0;  ///< share of values between the outermost quantiles, where these were known
  float count = 0;   ///< how many these means are of, at most score_over
};

/// SeasonScore rates the value a season ago: |error| of those rows that had one.
struct SeasonScore {
  float error = 0, count = 0;
};

/// The forecast that is published for one target at one horizon.
enum class Source : std::uint8_t { kLast, kModel, kSeason };

/// A kind of number. Those up to kLabelMean are doubles, in this order; the others are float32.
enum class Part : std::uint8_t {
  kValue,         ///< [fields] of the newest row
  kMean,          ///< [fields]
  kCellSum,       ///< [fields], with a grid
  kRowTargets,    ///< ring [target_depth][targets]
  kForecasts,     ///< ring [forecast_depth][outputs]
  kRowNaive,      ///< ring [naive_depth][targets]
  kLabelLast,     ///< [targets], with labels
  kLabelMean,     ///< [targets], with labels
  kVariance,      ///< [fields]
  kChange,        ///< [fields]
  kCellCount,     ///< [fields], with a grid
  kScale,         ///< [scores] squared usual error of the last value
  kScaled,        ///< [scores] that kScale is of, at most normalize_over
  kScore,         ///< [scores] Score
  kRows,          ///< ring [depth][inputs]
  kByModel,       ///< ring [forecast_depth][scores] Source
  kTrack,         ///< [scores][track_floats] of QuantileTracker, with quantiles
  kIntervals,     ///< [scores] that Score::inside is of, with quantiles
  kSeason,        ///< [scores] SeasonScore, with a season
  kLabelOutside,  ///< [targets], with late labels
  kLabelsSeen,    ///< that kLabelMean is of, at most normalize_over; own labels: [targets]
  kHead,          ///< [state], without late labels
  kTail,          ///< [state] of the last group, without late labels
  kNearTails,     ///< [groups - 1][state]
};
inline constexpr std::size_t kParts = static_cast<std::size_t>(Part::kNearTails) + 1;

/// DevicePart says where a Part lies in its block.
struct DevicePart {
  const char* name;    ///< in checkpoints
  std::size_t count;   ///< 0: this stream keeps none
  std::size_t offset;  ///< of the doubles or of the floats
  bool is_double;
};

struct DeviceShape {
  /// `state_floats`: 0 for a plain model.
  DeviceShape(const ForecastSettings& settings, int state_floats);

  const DevicePart& operator[](Part part) const { return parts[static_cast<std::size_t>(part)]; }
  /// How many of `open` pairs of the j-th horizon a device with so many rows can still give.
  std::uint32_t OpenOf(std::uint64_t device_rows, int j, std::uint64_t open) const;

  int fields, targets, horizons, outputs, inputs, state;
  int scores;  ///< targets x horizons
  int window, season, label_window, early_labels;
  std::vector<int> ahead;            ///< [horizons] rows, ascending
  std::vector<int> most_open;        ///< [horizons] complete pairs that can wait
  std::vector<HorizonGroup> groups;  ///< of a plain model, one a horizon
  int depth;           ///< rows kept: all that the oldest of these pairs sees, to the newest row
  int target_depth;    ///< rows whose targets are kept: depth + season, or label_window; with own
                       ///< labels one more than depth
  int naive_depth;     ///< rows whose naive forecasts are kept: with labels target_depth, else 0
  int forecast_depth;  ///< rows whose forecasts are kept: the last horizon, or label_window; or one
  int track_floats;    ///< 0: no quantiles
  std::array<DevicePart, kParts> parts;
  std::size_t floats = 0, doubles = 0;  ///< of the blocks
};

}  // namespace murmurate
