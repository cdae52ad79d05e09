// Device: what a stream remembers of one device: its last rows, what is usual for it, its recurrent
// state, the forecasts that are still open, and how good they were. All of it in two blocks of
// memory: in the targets' and fields' own units as doubles, since a counter at 123,456,789 that
// moves by 3 is no float32, and differences, deviations and states as float32. DeviceShape says
// where.
//
// Rows are numbered from 0, as they come. A ring keeps the last `depth` of them as the model sees
// them (in usual deviations of when they came), beside the targets as they were. The state before
// the oldest row and the one after the newest go along, each one step a row: training begins with
// the first, a forecast with the second.
//
//   ... [oldest row ............ newest row]
//   ^ tail state                            ^ head state
//
// At a horizon of h rows, the pair of row r is complete when row r + h has come. Of each horizon,
// Open() says how many complete pairs have not been learned, the newest of them of row rows - 1 -
// h. A recurrent model learns those of several near horizons in one sequence, a HorizonGroup, which
// ends `nearest` rows ago and begins with a tail state of its own.
//
// With labels that come later, h is 0, there are no states, and the rings keep label_window rows
// (and the window of the oldest): each with its forecasts, the naive one, and its label when it has
// come. LabelSlots says which have; `open` of them wait to be learned.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/stream/alarm.h"
#include "server/stream/label_slots.h"
#include "server/stream/sample.h"
#include "server/stream/sequence_window.h"
#include "server/stream/stream_settings.h"

namespace murmurate {

/// Numbers of one row: of each field its value and its change, both in usual deviations; without a
/// grid the gap before it, in usual gaps; with a season, of each target how far its value a season
/// before the first horizon is from now, in usual errors of the last value; with late labels,
/// of each target how far its last label is from its usual ones, in the same errors.
int InputsOf(const ForecastSettings& settings);
/// Numbers that the model gives for one row: targets x horizons x (1 + quantiles), in this order;
/// the first of each is the forecast itself, counted from the last value, in its usual error. The
/// others are not used (QuantileTracker makes the quantiles): models have them so that runs whose
/// models learned them go on.
int OutputsOf(const ForecastSettings& settings);

/// How the last forecasts of one target at one horizon were: means over score_over that forget.
struct Score {
  float model = 0, baseline = 0, published = 0;  ///< |error|, in the target's unit
  float inside = 0;  ///< share of values between the outermost quantiles, where these were known
  float count = 0;   ///< how many these means are of, at most score_over
};

/// The same of the value a season ago, |error| of those rows that had one.
struct SeasonScore {
  float error = 0, count = 0;
};

/// So many forecasts of a device must have been scored before the model's can be published, or a
/// value can be outside of what it said.
inline constexpr float kScoredBefore = 20.0f;

/// Of the next value in a mean over the last `over` values that forgets older ones; over fewer
/// while there are fewer.
inline float ForgettingWeight(float count, int over) {
  return 1.0f / std::min(count + 1.0f, static_cast<float>(over));
}

/// What is not usable is missing.
inline bool Usable(double value) { return std::abs(value) <= kMostUsable; }

/// Each has a window of its own.
inline constexpr int kPlainOpen = 16;

/// What is published for one target at one horizon.
enum class Source : std::uint8_t { kLast, kModel, kSeason };

/// Horizons `begin` to `end` - 1 that are learned in the same sequences.
struct HorizonGroup {
  int begin, end;
  int nearest;  ///< rows ahead of the first of them
};

/// Numbers of each device under one name, as a checkpoint has them.
struct DevicePart {
  const char* name;
  std::size_t offset, count;
  bool is_double;
};

/// Where things lie in the blocks of a stream's devices.
struct DeviceShape {
  /// `state_floats`: 0 for a plain model.
  DeviceShape(const ForecastSettings& settings, int state_floats);

  int fields, targets, horizons, outputs, inputs, state;
  int scores;  ///< targets x horizons
  int window, last_horizon, label_window;
  std::vector<int> most_open;        ///< [horizons] complete pairs that can wait
  std::vector<HorizonGroup> groups;  ///< of a plain model, one a horizon
  int depth;           ///< rows kept: all that the oldest of these pairs sees, to the newest row
  int target_depth;    ///< rows whose targets are kept: depth + season, or label_window
  int forecast_depth;  ///< rows whose forecasts are kept: last_horizon, or label_window
  // Of `numbers`:
  std::size_t value, mean;             ///< [fields]
  std::size_t cell_sum;                ///< [fields], with a grid
  std::size_t row_targets;             ///< ring [target_depth][targets]
  std::size_t forecasts;               ///< ring [forecast_depth][outputs]
  std::size_t row_naive;               ///< ring [label_window][targets]
  std::size_t label_last, label_mean;  ///< [targets], with late labels
  // Of `block`:
  std::size_t variance, change;   ///< [fields]
  std::size_t cell_count;         ///< [fields], with a grid
  std::size_t scale, scaled;      ///< [scores]
  std::size_t score;              ///< [scores] Score
  std::size_t rows;               ///< ring [depth][inputs]
  std::size_t by_model;           ///< ring [forecast_depth][scores] Source
  std::size_t track;              ///< [scores][track_floats] of QuantileTracker, with quantiles
  std::size_t intervals;          ///< [scores] that Score::inside is of, with quantiles
  std::size_t season;             ///< [scores] SeasonScore, with a season
  std::size_t label_outside;      ///< [targets], with late labels
  std::size_t labels_seen;        ///< that label_mean is of, at most normalize_over
  std::size_t head, tail;         ///< [state], without late labels; tail of the last group
  std::size_t near_tails;         ///< [groups - 1][state]
  std::size_t track_floats = 0;   ///< 0: no quantiles
  std::size_t floats = 0;         ///< of `block`
  std::size_t doubles = 0;        ///< of `numbers`
  std::vector<DevicePart> parts;  ///< all of these that are not empty

 private:
  std::size_t PlaceFloats(const char* name, int count, int times = 1);
  std::size_t PlaceDoubles(const char* name, int count, int times = 1);
  std::size_t Place(const DevicePart& part, std::size_t* end);
};

struct Device {
  Device(std::string_view device_name, const DeviceShape& device_shape)
      : name(device_name),
        shape(device_shape),
        block(device_shape.floats),
        numbers(device_shape.doubles),
        labels(device_shape.label_window),
        near_open(std::make_unique<std::uint32_t[]>(device_shape.most_open.size() - 1)) {}

  const std::string name;
  const DeviceShape& shape;
  std::vector<float> block;
  std::vector<double> numbers;
  std::uint64_t rows = 0;
  SequenceWindow sequences;  ///< empty: its messages have no numbers
  std::int64_t last_time_ns = 0, last_arrival_ns = 0, cell = 0;
  std::int64_t newest_time_ns = 0;  ///< of all that was taken, whatever clocks were set back since
  std::int64_t row_time_ns = 0;     ///< of the newest row
  std::int64_t heard_time_ns = 0;   ///< of the message taken last; 0: none
  std::optional<std::uint64_t> row_sequence;  ///< of the sample that made the newest row
  std::string row_id;                         ///< the same, with late labels
  float usual_gap_s = 0;
  float seen = 0;  ///< rows that what is usual is of, at most normalize_over
  LabelSlots labels;
  std::uint64_t label_row = 0;  ///< 1 + the newest row whose label has come; 0: none has
  std::uint32_t open = 0;       ///< of the farthest horizon
  std::unique_ptr<std::uint32_t[]> near_open;  ///< [horizons - 1] of each nearer one
  std::int64_t late_time_ns = 0;               ///< of the last one that was late
  std::uint32_t late = 0;                      ///< in a row, each later than the one before
  std::uint32_t stood_in = 0;                  ///< rows since the last one that was whole
  std::uint32_t rowless =
      0;  ///< messages (cells) that made no row since one field has had no value
  AlarmState alarm;
  bool in_line = false;  ///< waits to be learned from
  bool cell_begun = false;
  bool known = false;  ///< every field has had a value
  bool due = false;    ///< its newest row waits for its forecast

  std::span<float> At(std::size_t offset, int count) {
    return std::span(block).subspan(offset, static_cast<std::size_t>(count));
  }
  std::span<double> Numbers(std::size_t offset, int count) {
    return std::span(numbers).subspan(offset, static_cast<std::size_t>(count));
  }
  std::span<float> Row(std::uint64_t row) {
    return At(shape.rows + (row % shape.depth) * shape.inputs, shape.inputs);
  }
  double& Target(std::uint64_t row, int target) {
    return numbers[shape.row_targets + (row % shape.target_depth) * shape.targets + target];
  }
  std::span<double> Forecasts(std::uint64_t row) {
    return Numbers(shape.forecasts + (row % shape.forecast_depth) * shape.outputs, shape.outputs);
  }
  std::span<float> ByModel(std::uint64_t row) {
    return At(shape.by_model + (row % shape.forecast_depth) * shape.scores, shape.scores);
  }
  /// The naive forecast made at a row whose label comes later.
  double& RowNaive(std::uint64_t row, int target) {
    return numbers[shape.row_naive + (row % shape.label_window) * shape.targets + target];
  }
  std::span<float> head() { return At(shape.head, shape.state); }
  /// The state before the oldest row of a group's sequence.
  std::span<float> Tail(std::size_t group) {
    const bool last = group + 1 == shape.groups.size();
    return At(last ? shape.tail : shape.near_tails + group * shape.state, shape.state);
  }
  std::uint32_t& Open(int horizon) {
    return horizon + 1 == shape.horizons ? open : near_open[static_cast<std::size_t>(horizon)];
  }
  std::span<std::uint32_t> NearOpen() const {
    return {near_open.get(), static_cast<std::size_t>(shape.horizons - 1)};
  }
  bool HasOpen() const {
    return open > 0 || std::ranges::any_of(NearOpen(), [](auto pairs) { return pairs > 0; });
  }
  std::span<float> Track(int i) {
    return At(shape.track + i * shape.track_floats, static_cast<int>(shape.track_floats));
  }
  SeasonScore& SeasonAt(int i) {
    return reinterpret_cast<SeasonScore*>(block.data() + shape.season)[i];
  }
  Score& ScoreAt(int i) { return reinterpret_cast<Score*>(block.data() + shape.score)[i]; }

  /// The last value of `target` that was known at `row`; with late labels what RowNaive says.
  double Last(std::uint64_t row, int target);
  /// Its value of the phase of `row` + `horizon`, `season` > 0 rows or a multiple before; NaN where
  /// it is not known.
  double Seasonal(std::uint64_t row, int target, int horizon, int season);
  /// The usual error of Last, never 0; `i`: of which target and horizon.
  float UsualError(int i) const;
  /// What has been is no past of what comes: only what is usual stays.
  void Break();
  /// Nor are its numbers and times; newest_time_ns is.
  void BeginAgain();
};

}  // namespace murmurate
