// StreamDevice: what a stream remembers of one device: its last rows, what is usual for it, its
// recurrent state, the forecasts that are still open, and how good they were. DeviceShape says where
// each number lies.
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
// `open` says how many complete pairs have not been learned, the newest of them of row rows - 1 -
// h. A recurrent model learns those of several near horizons in one sequence, a HorizonGroup, which
// ends `nearest` rows ago and begins with a tail state of its own.
//
// With labels that come later, h is 0, there are no states, and the rings keep label_window rows
// (and the window of the oldest): each with its forecasts, the naive one, and its label when it has
// come. LabelSlots says which have; open.farthest() of them wait to be learned.
//
// Where messages have labels of their own, h is 0, too, and a row is a pair by itself if a label
// came with it. `open` counts the rows without one among the others, since it says where they lie.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/stream/alarm.h"
#include "server/stream/device_shape.h"
#include "server/stream/early_labels.h"
#include "server/stream/label_slots.h"
#include "server/stream/message_order.h"
#include "server/stream/open_pairs.h"
#include "server/stream/sample.h"

namespace murmurate {

/// The weight of the next value in a mean over the last `over` values that forgets older ones; over
/// fewer while there are fewer.
inline float ForgettingWeight(float count, int over) {
  return 1.0f / std::min(count + 1.0f, static_cast<float>(over));
}

/// A value that is not usable counts as missing.
inline bool Usable(double value) { return std::abs(value) <= kMostUsable; }

struct StreamDevice {
  StreamDevice(std::string_view device_name, const DeviceShape& device_shape)
      : name(device_name),
        shape(device_shape),
        block(std::make_unique<float[]>(device_shape.floats)),
        numbers(std::make_unique<double[]>(device_shape.doubles)),
        labels(device_shape.label_window),
        early(device_shape.label_window > 0
                  ? std::make_unique<EarlyLabels>(device_shape.early_labels, device_shape.targets)
                  : nullptr),
        open(device_shape.horizons) {}

  const std::string name;
  const DeviceShape& shape;
  const std::unique_ptr<float[]> block;     ///< [shape.floats]
  const std::unique_ptr<double[]> numbers;  ///< [shape.doubles]
  std::uint64_t rows = 0;
  MessageOrder order;
  float typical_gap_s = 0;
  float seen = 0;  ///< rows that what is usual is of, at most normalize_over
  LabelSlots labels;
  std::uint64_t label_row = 0;  ///< 1 + the newest row whose label has come; 0: none has
  const std::unique_ptr<EarlyLabels> early;  ///< null: no labels come later
  OpenPairs open;
  AlarmState alarm;
  bool in_line = false;  ///< waits to be learned from
  bool due = false;      ///< its newest row waits for its forecast

  struct Newest {
    std::int64_t time_ns = 0;
    std::optional<std::uint64_t> sequence;  ///< of the sample that made the row
    std::string id;                         ///< the same, with late labels
  };
  Newest newest;  ///< row
  struct Cell {
    std::int64_t number = 0;
    bool begun = false;
  };
  Cell cell;  ///< of the grid, to which its messages are added
  struct Missing {
    std::uint32_t stood_in = 0;  ///< rows since the last one that was whole
    std::uint32_t rowless = 0;   ///< messages (cells) without a row, since a field has had no value
    bool known = false;          ///< every field has had a value
  };
  Missing missing;

  std::span<float> Floats(Part part) {
    return {block.get() + shape[part].offset, shape[part].count};
  }
  std::span<double> Doubles(Part part) {
    return {numbers.get() + shape[part].offset, shape[part].count};
  }
  std::span<float> Row(std::uint64_t row) {
    return Slot(Floats(Part::kRows), row % shape.depth, shape.inputs);
  }
  std::span<double> Targets(std::uint64_t row) {
    return Slot(Doubles(Part::kRowTargets), row % shape.target_depth, shape.targets);
  }
  double& Target(std::uint64_t row, int target) { return Targets(row)[target]; }
  std::span<double> Forecasts(std::uint64_t row) {
    return Slot(Doubles(Part::kForecasts), row % shape.forecast_depth, shape.outputs);
  }
  std::span<float> ByModel(std::uint64_t row) {
    return Slot(Floats(Part::kByModel), row % shape.forecast_depth, shape.scores);
  }
  /// The naive forecast made at a row, where there are labels.
  double& RowNaive(std::uint64_t row, int target) {
    return Slot(Doubles(Part::kRowNaive), row % shape.naive_depth, shape.targets)[target];
  }
  /// The state before the oldest row of a group's sequence.
  std::span<float> Tail(std::size_t group) {
    const bool last = group + 1 == shape.groups.size();
    return last ? Floats(Part::kTail) : Slot(Floats(Part::kNearTails), group, shape.state);
  }
  std::span<float> Track(int i) {
    return Slot(Floats(Part::kTrack), static_cast<std::size_t>(i), shape.track_floats);
  }
  SeasonScore& SeasonAt(int i) {
    return reinterpret_cast<SeasonScore*>(Floats(Part::kSeason).data())[i];
  }
  Score& ScoreAt(int i) { return reinterpret_cast<Score*>(Floats(Part::kScore).data())[i]; }

  /// Writes the rows up to `last`, the oldest first; zeros for those before the first.
  void CopyWindow(std::uint64_t last, float* to);
  /// The last value of `target` that was known at `row`; with labels what RowNaive says.
  double Last(std::uint64_t row, int target);
  /// The season's forecast at `row` for the i-th target and horizon: the value of this phase, one
  /// season or a multiple before; NaN where it is not known.
  double Seasonal(std::uint64_t row, int i);
  /// The usual error of Last, never 0; `i`: of which target and horizon.
  float TypicalError(int i) const;
  /// Begins a new past: only what is usual stays.
  void Break();

 private:
  template <typename Number>
  static std::span<Number> Slot(std::span<Number> ring, std::uint64_t slot, int width) {
    return ring.subspan(slot * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
  }
};

}  // namespace murmurate
