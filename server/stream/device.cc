#include "server/stream/device.h"

#include <algorithm>
#include <cmath>

namespace murmurate {

int InputsOf(const ForecastSettings& settings) {
  const int gap = settings.every_s > 0 ? 0 : 1;
  const int season = settings.season > 0 ? static_cast<int>(settings.targets.size()) : 0;
  const int labels = settings.late_labels() ? static_cast<int>(settings.targets.size()) : 0;
  return 2 * static_cast<int>(settings.fields.size()) + gap + season + labels;
}

int OutputsOf(const ForecastSettings& settings) {
  return static_cast<int>(settings.targets.size() * settings.horizons.size() *
                          (1 + settings.quantiles.size()));
}

DeviceShape::DeviceShape(const ForecastSettings& settings, int state_floats)
    : fields(static_cast<int>(settings.fields.size())),
      targets(static_cast<int>(settings.targets.size())),
      horizons(static_cast<int>(settings.horizons.size())),
      outputs(OutputsOf(settings)),
      inputs(InputsOf(settings)),
      state(state_floats),
      scores(targets * horizons),
      window(settings.window),
      last_horizon(settings.horizons.back()),
      label_window(settings.label_window),
      most_open(settings.late_labels() ? label_window
                : state > 0            ? window
                                       : kPlainOpen),
      depth(settings.late_labels() ? window + label_window - 1
                                   : window + last_horizon + (state > 0 ? 0 : most_open)),
      target_depth(settings.late_labels() ? label_window : depth + settings.season),
      forecast_depth(settings.late_labels() ? label_window : last_horizon) {
  const bool late = settings.late_labels(), grid = settings.every_s > 0;
  value = PlaceDoubles("value", fields);
  mean = PlaceDoubles("mean", fields);
  cell_sum = PlaceDoubles("cell_sum", grid ? fields : 0);
  row_targets = PlaceDoubles("row_targets", target_depth, targets);
  forecasts = PlaceDoubles("forecasts", forecast_depth, outputs);
  row_naive = PlaceDoubles("row_naive", label_window, targets);
  label_last = PlaceDoubles("label_last", late ? targets : 0);
  label_mean = PlaceDoubles("label_mean", late ? targets : 0);
  variance = PlaceFloats("variance", fields);
  change = PlaceFloats("change", fields);
  cell_count = PlaceFloats("cell_count", grid ? fields : 0);
  scale = PlaceFloats("scale", scores);
  scaled = PlaceFloats("scaled", scores);
  score = PlaceFloats("score", scores, sizeof(Score) / sizeof(float));
  rows = PlaceFloats("rows", depth, inputs);
  by_model = PlaceFloats("by_model", forecast_depth, scores);
  label_outside = PlaceFloats("label_outside", late ? targets : 0);
  labels_seen = PlaceFloats("labels_seen", late ? 1 : 0);
  head = PlaceFloats("head", late ? 0 : state);
  tail = PlaceFloats("tail", late ? 0 : state);
}

std::size_t DeviceShape::PlaceFloats(const char* name, int count, int times) {
  return Place({name, floats, static_cast<std::size_t>(count) * times, false}, &floats);
}

std::size_t DeviceShape::PlaceDoubles(const char* name, int count, int times) {
  return Place({name, doubles, static_cast<std::size_t>(count) * times, true}, &doubles);
}

std::size_t DeviceShape::Place(const DevicePart& part, std::size_t* end) {
  if (part.count > 0) parts.push_back(part);
  *end += part.count;
  return part.offset;
}

double Device::Naive(std::uint64_t row, int target, int horizon, int season) {
  if (shape.label_window > 0) return RowNaive(row, target);
  if (season > 0) {
    const auto seasons = static_cast<std::uint64_t>((horizon + season - 1) / season);
    const std::uint64_t back = seasons * static_cast<std::uint64_t>(season) - horizon;
    if (back <= row) {
      const double then = Target(row - back, target);
      if (std::isfinite(then)) return then;
    }
  }
  // Slots of the ring behind its oldest row hold newer ones.
  const std::uint64_t age = rows > row ? rows - 1 - row : 0;
  const auto kept = std::min(row, static_cast<std::uint64_t>(shape.target_depth - 1) - age);
  for (std::uint64_t back = 0; back < kept; ++back)
    if (std::isfinite(Target(row - back, target))) return Target(row - back, target);
  return Target(row - kept, target);
}

float Device::UsualError(int i) const {
  const float squared = block[shape.scale + i];
  return squared > 0 ? std::sqrt(squared) : 1.0f;
}

void Device::Break() {
  rows = 0;
  open = 0;
  stood_in = 0;
  known = false;
  rowless = 0;
  std::fill(block.begin() + static_cast<std::ptrdiff_t>(shape.head), block.end(), 0.0f);
}

void Device::BeginAgain() {
  last_time_ns = 0;
  heard_time_ns = 0;
  late = 0;
  cell_begun = false;
  if (shape.cell_count == shape.scale) return;  // no grid
  std::ranges::fill(Numbers(shape.cell_sum, shape.fields), 0.0);
  std::ranges::fill(At(shape.cell_count, shape.fields), 0.0f);
}

}  // namespace murmurate
