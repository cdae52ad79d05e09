// What Forecaster forecasts: one pass of the network over the newest rows of many devices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "server/stream/forecaster.h"

namespace murmurate {

void Forecaster::TakeWeights(const Snapshot& snapshot) {
  const std::span<const float> all(snapshot.parameters.data(), snapshot.parameters.size());
  policy_.Pack(all.subspan(layout_.published.offset, layout_.published.count),
               all.subspan(layout_.statistics.offset, layout_.statistics.count));
  version_ = snapshot.version;
}

void Forecaster::Predict() {
  if (due_.empty()) return;
  if (version_ == 0) {
    std::fill(outputs_.begin(), outputs_.end(), 0.0f);
  } else if (shape_.state > 0 && settings_.per_device_state) {
    StepTails();
    StepHeads();
  } else if (shape_.state > 0) {
    StepWindows();
  } else {
    ForwardWindows();
  }
  for (std::size_t i = 0; i < due_.size(); ++i) {
    due_[i]->due = false;
    Answer(due_[i].get(), outputs_.data() + i * static_cast<std::size_t>(shape_.outputs));
  }
  due_.clear();
}

/// The states before the oldest rows of sequences, from which an older one has just left.
void Forecaster::StepTails() {
  for (std::size_t group = 0; group < shape_.groups.size(); ++group) {
    const auto kept = static_cast<std::uint64_t>(shape_.window + shape_.groups[group].nearest);
    const std::size_t inputs = static_cast<std::size_t>(shape_.inputs);
    int count = 0;
    for (std::size_t i = 0; i < due_.size(); ++i) {
      Device* const device = due_[i].get();
      if (device->rows <= kept) continue;
      const float* const left = kept == static_cast<std::uint64_t>(shape_.depth)
                                    ? leaving_.data() + i * inputs
                                    : device->Row(device->rows - 1 - kept).data();
      std::copy_n(left, inputs, inputs_.data() + count * inputs);
      std::ranges::copy(device->Tail(group), states_.data() + count * shape_.state);
      ++count;
    }
    if (count == 0) continue;
    policy_.Forward(inputs_.data(), count, outputs_.data(), scratch_.data(), states_.data());
    const float* state = states_.data();
    for (const auto& device : due_) {
      if (device->rows <= kept) continue;
      std::copy_n(state, shape_.state, device->Tail(group).begin());
      state += shape_.state;
    }
  }
}

void Forecaster::StepHeads() {
  const std::size_t inputs = static_cast<std::size_t>(shape_.inputs);
  for (std::size_t i = 0; i < due_.size(); ++i) {
    std::ranges::copy(due_[i]->Row(due_[i]->rows - 1), inputs_.data() + i * inputs);
    std::ranges::copy(due_[i]->head(), states_.data() + i * shape_.state);
  }
  policy_.Forward(inputs_.data(), static_cast<int>(due_.size()), outputs_.data(), scratch_.data(),
                  states_.data());
  for (std::size_t i = 0; i < due_.size(); ++i)
    std::copy_n(states_.data() + i * shape_.state, shape_.state, due_[i]->head().begin());
}

/// From nothing through the window, one device at a time: they may have windows of different
/// length.
void Forecaster::StepWindows() {
  for (std::size_t i = 0; i < due_.size(); ++i) {
    std::fill_n(states_.data(), shape_.state, 0.0f);
    const std::uint64_t end = due_[i]->rows;
    const auto window = static_cast<std::uint64_t>(shape_.window);
    for (std::uint64_t row = end - std::min(end, window); row < end; ++row)
      policy_.Forward(due_[i]->Row(row).data(), 1, outputs_.data() + i * shape_.outputs,
                      scratch_.data(), states_.data());
  }
}

void Forecaster::ForwardWindows() {
  const std::size_t width = static_cast<std::size_t>(shape_.inputs * shape_.window);
  for (std::size_t i = 0; i < due_.size(); ++i)
    PutWindow(due_[i].get(), due_[i]->rows - 1, inputs_.data() + i * width);
  policy_.Forward(inputs_.data(), static_cast<int>(due_.size()), outputs_.data(), scratch_.data());
}

/// The rows up to `last`, the oldest first; zeros for those before the first.
void Forecaster::PutWindow(Device* device, std::uint64_t last, float* to) const {
  for (int i = 0; i < shape_.window; ++i, to += shape_.inputs) {
    const auto back = static_cast<std::uint64_t>(shape_.window - 1 - i);
    if (back > last) {
      std::fill_n(to, shape_.inputs, 0.0f);
    } else {
      std::ranges::copy(device->Row(last - back), to);
    }
  }
}

/// Of the newest row of a device: from what the network says to what is published.
void Forecaster::Answer(Device* device, const float* outputs) {
  const int each = shape_.outputs / shape_.scores;
  if (settings_.alarm) SeeOutside(device);
  for (int i = 0; i < shape_.scores; ++i) AnswerOne(device, i, outputs[i * each]);
  ++totals_.forecasts;
  if (use_)
    use_({device->name, device->rows - 1, device->row_time_ns, version_,
          device->Numbers(shape_.value, shape_.fields), predictions_, device->usual_gap_s,
          settings_.alarm ? TakeAlarm(device) : AlarmChange::kNone, device->row_sequence,
          device->row_id});
}

/// Of one target at one horizon: what is published, and its quantiles.
void Forecaster::AnswerOne(Device* device, int i, float output) {
  const std::uint64_t row = device->rows - 1;
  const auto each = static_cast<std::size_t>(shape_.outputs / shape_.scores);
  const auto kept = device->Forecasts(row).subspan(static_cast<std::size_t>(i) * each, each);
  const double last = device->Last(row, i / shape_.horizons);
  kept[0] = last + (std::isfinite(output) ? double{device->UsualError(i)} * output : 0.0);
  Prediction& made = predictions_[static_cast<std::size_t>(i)];
  const bool season = SeasonLeads(device, i);
  made.model = kept[0];
  const double then = season ? SeasonOf(device, i, row) : last;
  made.baseline = std::isfinite(then) ? then : last;
  made.score = device->ScoreAt(i);
  if (season) made.score.baseline = device->SeasonAt(i).error;
  made.by_model = Known(made.score.count) && made.score.model < made.score.baseline;
  made.published = made.by_model ? made.model : made.baseline;
  made.quantiles = kept.subspan(1);
  device->ByModel(row)[i] = static_cast<float>(made.by_model ? Source::kModel
                                               : season      ? Source::kSeason
                                                             : Source::kLast);
  if (trackers_.empty()) return;
  if (device->block[shape_.intervals + static_cast<std::size_t>(i)] == 0.0f)
    made.score.inside = std::numeric_limits<float>::quiet_NaN();
  trackers_[static_cast<std::size_t>(i)].Place(device->Track(i), offsets_);
  for (std::size_t j = 0; j < offsets_.size(); ++j) kept[1 + j] = made.published + offsets_[j];
}

/// Begins alarm_row_ for the newest row of a device, before the forecasts made at it take the place
/// of those that were made for it.
void Forecaster::SeeOutside(Device* device) {
  if (settings_.late_labels()) return SeeLastLabel(device);
  const std::uint64_t row = device->rows - 1;
  const auto horizon = static_cast<std::uint64_t>(settings_.horizons[0]);
  const auto each = static_cast<std::size_t>(shape_.outputs / shape_.scores);
  for (int target = 0; target < shape_.targets; ++target) {
    const int i = target * shape_.horizons;
    AlarmQuantities& seen = alarm_row_[static_cast<std::size_t>(target)];
    seen = {.value = device->Target(row, target)};
    if (each < 3 || row < horizon || !Known(device->ScoreAt(i).count)) continue;
    const auto made = device->Forecasts(row - horizon).subspan(static_cast<std::size_t>(i) * each);
    seen.outside = seen.value < made[1] || seen.value > made[each - 1];
  }
}

AlarmChange Forecaster::TakeAlarm(Device* device) {
  const AlarmSettings& alarm = *settings_.alarm;
  for (int target = 0; target < shape_.targets; ++target) {
    const Prediction& made = predictions_[static_cast<std::size_t>(target * shape_.horizons)];
    AlarmQuantities& seen = alarm_row_[static_cast<std::size_t>(target)];
    seen.forecast = made.published;
    seen.baseline = made.baseline;
    seen.error =
        made.score.count > 0 ? made.score.published : std::numeric_limits<double>::quiet_NaN();
    if (made.quantiles.size() < 2) continue;
    seen.low = made.quantiles.front();
    seen.high = made.quantiles.back();
  }
  const auto absent = [this](const AlarmCondition& condition) {
    return !std::isfinite(alarm_row_[static_cast<std::size_t>(condition.target)].value);
  };
  if (absent(alarm.when) || (alarm.clear && absent(*alarm.clear))) return AlarmChange::kNone;
  const AlarmChange change = murmurate::Take(alarm, alarm_row_, &device->alarm);
  if (change == AlarmChange::kRaised) ++alarms_;
  if (change == AlarmChange::kCleared) --alarms_;
  return change;
}

}  // namespace murmurate
