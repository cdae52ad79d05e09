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
// With horizons up to h, the pair of row r is complete when row r + h has come. What is complete
// and nobody has learned is `open` rows, the newest of them row rows - 1 - h.
//
// With labels that come later, h is 0, there are no states, and the rings keep label_window rows
// (and the window of the oldest): each with its forecasts, the naive one, and its label when it has
// come. LabelSlots says which have; `open` of them wait to be learned.
#pragma once

#include <cmath>
#include <cstdint>
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
/// before the first horizon is from now, in usual errors of the naive forecast; with late labels,
/// of each target how far its last label is from its usual ones, in the same errors.
int InputsOf(const ForecastSettings& settings);
/// Numbers that the model gives for one row: targets x horizons x (1 + quantiles), in this order;
/// the first of each is the forecast itself. They count from the naive forecast, in its usual
/// error.
int OutputsOf(const ForecastSettings& settings);

/// How the last forecasts of one target at one horizon were: means over score_over that forget.
struct Score {
  float model = 0, baseline = 0, published = 0;  ///< |error|, in the target's unit
  float inside = 0;  ///< share of values between the outermost quantiles
  float count = 0;   ///< how many these means are of, at most score_over
};

/// So many forecasts of a device must have been scored before the model's can be published, or a
/// value can be outside of what it said.
inline constexpr float kScoredBefore = 20.0f;

/// What is not usable is missing.
inline bool Usable(double value) { return std::abs(value) <= kMostUsable; }

/// Each has a window of its own.
inline constexpr int kPlainOpen = 16;

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
  int most_open;       ///< complete pairs that can wait: `window`, of a plain model kPlainOpen, of
                       ///< late labels label_window
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
  std::size_t by_model;           ///< ring [forecast_depth][scores], 1 or 0
  std::size_t label_outside;      ///< [targets], with late labels
  std::size_t labels_seen;        ///< that label_mean is of, at most normalize_over
  std::size_t head, tail;         ///< [state], without late labels
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
        labels(device_shape.label_window) {}

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
  std::uint64_t label_row = 0;    ///< 1 + the newest row whose label has come; 0: none has
  std::uint32_t open = 0;         ///< at most most_open
  std::int64_t late_time_ns = 0;  ///< of the last one that was late
  std::uint32_t late = 0;         ///< in a row, each later than the one before
  std::uint32_t stood_in = 0;     ///< rows since the last one that was whole
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
  std::span<float> tail() { return At(shape.tail, shape.state); }
  Score& ScoreAt(int i) { return reinterpret_cast<Score*>(block.data() + shape.score)[i]; }

  /// The naive forecast, made at `row`, of `target` at `row` + `horizon`: its last value, or with a
  /// season of so many rows the last one of that phase that was known; with late labels
  /// what RowNaive says.
  double Naive(std::uint64_t row, int target, int horizon, int season);
  /// The usual error of that, never 0; `i`: of which target and horizon.
  float UsualError(int i) const;
  /// What has been is no past of what comes: only what is usual stays.
  void Break();
  /// Nor are its numbers and times; newest_time_ns is.
  void BeginAgain();
};

}  // namespace murmurate
