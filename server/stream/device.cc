#include "server/stream/device.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

namespace {

/// A sequence of a group ends with the nearest of its horizons, so the farthest one has the rest
/// of the window: at least half.
std::vector<HorizonGroup> GroupsOf(const ForecastSettings& settings, bool recurrent) {
  std::vector<HorizonGroup> groups;
  for (int j = 0; j < static_cast<int>(settings.horizons.size()); ++j) {
    const int horizon = settings.horizons[static_cast<std::size_t>(j)];
    if (!groups.empty() && recurrent && horizon - groups.back().nearest <= settings.window / 2)
      groups.back().end = j + 1;
    else
      groups.push_back({j, j + 1, horizon});
  }
  return groups;
}

std::vector<int> MostOpenOf(const ForecastSettings& settings, bool recurrent) {
  if (settings.late_labels()) return {settings.label_window};
  std::vector<int> most(settings.horizons.size(), kPlainOpen);
  for (const HorizonGroup& group : GroupsOf(settings, recurrent))
    for (int j = group.begin; recurrent && j < group.end; ++j) {
      const auto at = static_cast<std::size_t>(j);
      most[at] = settings.window - (settings.horizons[at] - group.nearest);
    }
  return most;
}

}  // namespace

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
      most_open(MostOpenOf(settings, state > 0)),
      groups(GroupsOf(settings, state > 0)),
      depth(settings.late_labels() ? window + label_window - 1
                                   : window + last_horizon + (state > 0 ? 0 : kPlainOpen)),
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
  track_floats = settings.quantiles.empty() ? 0 : 2 + settings.quantiles.size();
  track = PlaceFloats("track", scores, static_cast<int>(track_floats));
  intervals = PlaceFloats("intervals", track_floats > 0 ? scores : 0);
  season =
      PlaceFloats("season", settings.season > 0 ? scores : 0, sizeof(SeasonScore) / sizeof(float));
  label_outside = PlaceFloats("label_outside", late ? targets : 0);
  labels_seen = PlaceFloats("labels_seen", late ? 1 : 0);
  head = PlaceFloats("head", late ? 0 : state);
  tail = PlaceFloats("tail", late ? 0 : state);
  near_tails = PlaceFloats("near_tails", static_cast<int>(groups.size()) - 1, state);
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

double Device::Seasonal(std::uint64_t row, int target, int horizon, int season) {
  const auto seasons = static_cast<std::uint64_t>((horizon + season - 1) / season);
  const std::uint64_t back = seasons * static_cast<std::uint64_t>(season) - horizon;
  return back <= row ? Target(row - back, target) : std::numeric_limits<double>::quiet_NaN();
}

double Device::Last(std::uint64_t row, int target) {
  if (shape.label_window > 0) return RowNaive(row, target);
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
  std::ranges::fill(NearOpen(), 0u);
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
