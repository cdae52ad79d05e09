#include "server/stream/forecaster.h"

#include <algorithm>
#include <array>

#include "server/stream/device_state.h"
#include "server/stream/late_labels.h"
#include "server/stream/row_inputs.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {
namespace {

constexpr std::int64_t kAheadNs =
    86'400 * kNanosecondsPerSecond;  ///< of our clock, that we believe

}  // namespace

Forecaster::Forecaster(const ForecastSettings& settings, const ModelSpec& spec, OnForecast use)
    : settings_(settings),
      use_(std::move(use)),
      shape_(settings, TrajectoryLayout(spec, 1).state_floats),
      network_(settings_, shape_, spec),
      table_(settings_, shape_,
             {[this] { Predict(); }, [this](StreamDevice* device) { Forget(device); }}),
      rows_(settings_, shape_,
            {[this](const auto& device, const RowValues& row, std::int64_t time_ns, float gap_s) {
               AddRow(device, row, time_ns, gap_s);
             },
             [this](StreamDevice* device) { Break(device); }}),
      scores_(settings_, shape_),
      alarm_(settings_, shape_, scores_),
      pairs_(settings_),
      labels_({settings_, table_, scores_, pairs_, [this] { Predict(); }}),
      own_(settings_),
      predictions_(static_cast<std::size_t>(shape_.scores)) {}

Refusal Forecaster::Consume(const Sample& sample, std::int64_t arrival_ns) {
  // Believed, it would make every later message one whose time runs back.
  if (sample.time_ns > arrival_ns && sample.time_ns - arrival_ns > kAheadNs)
    return Refusal::kBadTime;
  const std::shared_ptr<StreamDevice> device = table_.FindOrAdd(sample.device, arrival_ns);
  if (device == nullptr) return Refusal::kTooManyDevices;
  MessageOrder& order = device->order;
  const std::int64_t time_ns =
      sample.time_ns != 0 ? sample.time_ns : std::max(arrival_ns, order.last_time_ns());
  const Ordering standing = order.Judge(sample, time_ns, rows_.CellOf(*device, time_ns));
  if (standing == Ordering::kDuplicate) return Refusal::kDuplicate;
  if (standing == Ordering::kLate) return Refusal::kTimeRunsBack;
  const bool whole = settings_.own_labels() ? own_.Whole(sample.values)
                                            : std::ranges::all_of(sample.values, Usable);
  if (settings_.missing == ForecastSettings::Missing::kError && !whole)
    return Refusal::kMissingField;
  std::uint64_t id = 0;
  if (settings_.late_labels())
    if (const Refusal refusal = CheckLabelId(*device, sample.id, &id); refusal != Refusal::kNone)
      return refusal;
  if (standing == Ordering::kBeginsAgain) BeginAgain(device.get(), sample);
  const auto [missing, gap_s] = order.Accept(sample, time_ns, arrival_ns);
  counts_.gaps += static_cast<std::uint64_t>(missing);
  counts_.late += standing == Ordering::kOvertaken ? 1 : 0;
  ++counts_.messages;
  std::span<const double> values = sample.values;
  if (settings_.own_labels()) {
    if (device->due) Predict();  // its label is the newest one before this message
    own_.Split(values, device.get());
    values = own_.fields();
  }
  if (!rows_.Add(device, values, time_ns, gap_s)) {
    if (settings_.own_labels()) KeepOwnLabels(settings_, own_.labels(), device.get());
    return Refusal::kNone;
  }
  device->newest.sequence = sample.sequence;
  if (settings_.late_labels()) {
    device->newest.id = sample.id;
    labels_.BeginRow(device, id);
  }
  return Refusal::kNone;
}

bool Forecaster::IsDue(std::string_view device) const {
  const auto found = table_.all().find(device);
  return found != table_.all().end() && found->second->due;
}

std::size_t Forecaster::open_cells() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      table_.all(), [](const auto& entry) { return entry.second->cell.begun; }));
}

std::size_t Forecaster::alarms() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      table_.all(), [](const auto& entry) { return entry.second->alarm.raised; }));
}

/// The device's clock was set back, or it was started again and counts anew.
void Forecaster::BeginAgain(StreamDevice* device, const Sample& sample) {
  if (settings_.late_labels()) {
    ++counts_.breaks;  // labels of the rows before still come
  } else {
    Break(device);
  }
  rows_.DiscardCell(device);
  device->order.BeginAgain(sample);
}

/// The device's next row begins a new past.
void Forecaster::Break(StreamDevice* device) {
  if (device->due) Predict();
  pairs_.Drop(device);
  device->Break();
  ++counts_.breaks;
}

void Forecaster::Forget(StreamDevice* device) {
  pairs_.Drop(device);
  rows_.DiscardCell(device);
  labels_.Forget(*device);
}

void Forecaster::AddRow(const std::shared_ptr<StreamDevice>& device, const RowValues& row,
                        std::int64_t time_ns, float gap_s) {
  if (device->due || due_.size() == ForecastNetwork::kMostRows) Predict();
  device->newest.time_ns = time_ns;
  network_.KeepLeaving(due_.size(), device.get());
  if (!settings_.labelled()) scores_.ScoreRow(device.get(), row);
  const auto labels = settings_.own_labels() ? own_.labels() : std::span<const double>();
  PutRow(settings_, row, labels, gap_s, device.get());
  ++device->rows;
  ++counts_.rows;
  if (!settings_.labelled()) pairs_.AddRow(device);
  device->due = true;
  due_.push_back(device);
}

void Forecaster::Predict() {
  if (due_.empty()) return;
  const std::span<const float> outputs = network_.Forward(due_);
  const auto each = static_cast<std::size_t>(shape_.outputs);
  for (std::size_t i = 0; i < due_.size(); ++i) {
    due_[i]->due = false;
    Answer(due_[i], outputs.subspan(i * each, each));
  }
  due_.clear();
}

/// Turns the network's outputs for a device's newest row into the forecast that is published.
void Forecaster::Answer(const std::shared_ptr<StreamDevice>& answered,
                        std::span<const float> outputs) {
  StreamDevice* const device = answered.get();
  const int each = shape_.outputs / shape_.scores;
  alarm_.BeginRow(device);
  for (int i = 0; i < shape_.scores; ++i)
    predictions_[static_cast<std::size_t>(i)] = scores_.Choose(device, i, outputs[i * each]);
  ++counts_.forecasts;
  if (use_)
    use_({device->name, device->rows - 1, device->newest.time_ns, version(),
          device->Doubles(Part::kValue), predictions_, device->typical_gap_s,
          alarm_.EndRow(device, predictions_), device->newest.sequence, device->newest.id,
          device->Targets(device->rows - 1)});
  if (!settings_.own_labels()) return;
  ScoreOwnLabels(settings_, device, &scores_);
  pairs_.AddRow(answered);
}

/// Pairs that a Forecaster loaded from this state cannot learn are saved as unlearned.
void Forecaster::Save(const StateWriter& writer) const {
  MURMURATE_CHECK(due_.empty(), "a stream is saved between rounds");
  const std::uint64_t kept = SaveDevices(settings_, shape_, table_, pairs_, writer);
  scores_.Save(writer);
  const Totals t = totals();
  writer.Words("totals", {{t.messages, t.rows, t.forecasts, t.complete, t.learned,
                           t.complete - t.learned - kept, t.gaps, t.breaks, t.drifts}});
  writer.Words("more_totals", {{t.late, t.incomplete, t.skipped, t.joined, t.empty}});
  if (settings_.late_labels()) writer.Words("unmatched", {{t.unmatched}});
}

Status Forecaster::Load(const StateReader& reader) {
  const auto loaded = LoadDevices(settings_, shape_, reader, &table_);
  if (!loaded.ok()) return loaded.status();
  const bool one = IsFormatOne(reader);
  std::array<std::uint64_t, 9> t{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("totals", t));
  std::array<std::uint64_t, 5> more{};
  if (!one) MURMURATE_RETURN_IF_ERROR(reader.Words("more_totals", more));
  counts_ = {t[0], t[1], t[2], t[6], t[7], more[0]};
  if (const auto unmatched = reader.AllWords("unmatched"); unmatched.ok() && !unmatched->empty())
    labels_.GoOnFrom({unmatched->front()});
  pairs_.GoOnFrom({.complete = t[3], .learned = t[4], .unlearned = t[5]});
  rows_.GoOnFrom({.incomplete = more[1], .skipped = more[2], .joined = more[3], .empty = more[4]});
  MURMURATE_RETURN_IF_ERROR(scores_.Load(t[8], !one, reader));
  if (settings_.late_labels())
    for (const auto& device : *loaded) pairs_.GoOn(device);
  else
    for (const auto& [name, device] : table_.all()) pairs_.GoOn(device);
  return {};
}

std::size_t Forecaster::bytes_per_device() const {
  return sizeof(StreamDevice) + shape_.floats * sizeof(float) + shape_.doubles * sizeof(double) +
         LabelSlots(shape_.label_window).bytes() +
         EarlyLabels::BytesOf(shape_.early_labels, shape_.targets);
}

}  // namespace murmurate
