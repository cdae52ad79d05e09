#include "server/stream/device_shape.h"

#include <algorithm>
#include <utility>

namespace murmurate {

int InputsOf(const ForecastSettings& settings) {
  const int gap = settings.every_s > 0 ? 0 : 1;
  const int season = settings.season > 0 ? static_cast<int>(settings.targets.size()) : 0;
  const int labels = settings.labelled() ? static_cast<int>(settings.targets.size()) : 0;
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

DevicePart Doubles(const char* name, int count, int times = 1) {
  return {name, static_cast<std::size_t>(count) * static_cast<std::size_t>(times), 0, true};
}

DevicePart Floats(const char* name, int count, int times = 1) {
  return {name, static_cast<std::size_t>(count) * static_cast<std::size_t>(times), 0, false};
}

/// So many float32 one struct of numbers takes.
template <typename Numbers>
constexpr int kFloatsOf = static_cast<int>(sizeof(Numbers) / sizeof(float));

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
      season(settings.season),
      label_window(settings.label_window),
      early_labels(settings.early_labels),
      ahead(settings.horizons),
      most_open(MostOpenOf(settings, state > 0)),
      groups(GroupsOf(settings, state > 0)),
      depth(settings.late_labels() ? window + label_window - 1
                                   : window + ahead.back() + (state > 0 ? 0 : kPlainOpen)),
      target_depth(settings.late_labels()  ? label_window
                   : settings.own_labels() ? depth + 1
                                           : depth + settings.season),
      naive_depth(settings.labelled() ? target_depth : 0),
      forecast_depth(settings.late_labels() ? label_window : std::max(1, ahead.back())),
      track_floats(settings.quantiles.empty() ? 0
                                              : 2 + static_cast<int>(settings.quantiles.size())) {
  const int late = settings.late_labels() ? 1 : 0;
  const int own = settings.own_labels() ? 1 : 0;
  const int cells = settings.every_s > 0 ? fields : 0;
  parts = {Doubles("value", fields),
           Doubles("mean", fields),
           Doubles("cell_sum", cells),
           Doubles("row_targets", target_depth, targets),
           Doubles("forecasts", forecast_depth, outputs),
           Doubles("row_naive", naive_depth, targets),
           Doubles("label_last", (late + own) * targets),
           Doubles("label_mean", (late + own) * targets),
           Floats("variance", fields),
           Floats("change", fields),
           Floats("cell_count", cells),
           Floats("scale", scores),
           Floats("scaled", scores),
           Floats("score", scores, kFloatsOf<Score>),
           Floats("rows", depth, inputs),
           Floats("by_model", forecast_depth, scores),
           Floats("track", scores, track_floats),
           Floats("intervals", track_floats > 0 ? scores : 0),
           Floats("season", season > 0 ? scores : 0, kFloatsOf<SeasonScore>),
           Floats("label_outside", late * targets),
           Floats("labels_seen", late + own * targets),
           Floats("head", (1 - late) * state),
           Floats("tail", (1 - late) * state),
           Floats("near_tails", static_cast<int>(groups.size()) - 1, state)};
  for (DevicePart& part : parts) {
    std::size_t& end = part.is_double ? doubles : floats;
    part.offset = std::exchange(end, end + part.count);
  }
}

std::uint32_t DeviceShape::OpenOf(std::uint64_t device_rows, int j, std::uint64_t open) const {
  const auto at = static_cast<std::size_t>(j);
  const auto horizon = static_cast<std::uint64_t>(ahead[at]);
  const std::uint64_t complete = device_rows > horizon ? device_rows - horizon : 0;
  return static_cast<std::uint32_t>(
      std::min({open, complete, static_cast<std::uint64_t>(most_open[at])}));
}

}  // namespace murmurate
