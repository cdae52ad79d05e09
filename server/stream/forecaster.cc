#include "server/stream/forecaster.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "server/stream/message_order.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kMostDeviations = 10.0f;  ///< as normalized observations are cut
constexpr std::int64_t kAheadNs =
    86'400 * kNanosecondsPerSecond;           ///< of our clock, that we believe
constexpr float kUnknownGap = -1;             ///< seconds
constexpr std::uint32_t kRowlessBefore = 20;  ///< messages, before a device is said to be stuck
constexpr int kRound = 64;                    ///< rows that run fused in the cache (policy.h)

/// `distance` in units of `usual`, which is not 0.
float Cut(double distance, double usual) {
  return std::clamp(static_cast<float>(distance / usual), -kMostDeviations, kMostDeviations);
}

}  // namespace

Forecaster::Forecaster(const ForecastSettings& settings, const ModelSpec& spec, OnForecast use)
    : settings_(settings),
      use_(std::move(use)),
      recurrent_(spec.recurrent()),
      layout_(spec),
      policy_(spec),
      shape_(settings, policy_.state_floats()),
      inputs_(static_cast<std::size_t>(kRound) *
              static_cast<std::size_t>(recurrent_ ? shape_.inputs : shape_.inputs * shape_.window)),
      states_(static_cast<std::size_t>(kRound * shape_.state)),
      outputs_(static_cast<std::size_t>(kRound * shape_.outputs)),
      scratch_(policy_.ScratchFloats(kRound)),
      leaving_(static_cast<std::size_t>(kRound * shape_.inputs)),
      predictions_(static_cast<std::size_t>(shape_.scores)),
      alarm_row_(static_cast<std::size_t>(shape_.targets)),
      drift_(settings.drift),
      absent_(static_cast<std::size_t>(shape_.fields)) {
  if (settings.quantiles.empty()) return;
  for (int i = 0; i < shape_.scores; ++i)
    trackers_.emplace_back(settings.quantiles,
                           settings.horizons[static_cast<std::size_t>(i % shape_.horizons)]);
  offsets_.resize(settings.quantiles.size());
}

Refusal Forecaster::Take(const Sample& sample, std::int64_t arrival_ns) {
  // Believed, it would make every later message one whose time runs back.
  if (sample.time_ns > arrival_ns && sample.time_ns - arrival_ns > kAheadNs)
    return Refusal::kBadTime;
  const std::shared_ptr<Device> device = Find(sample.device, arrival_ns);
  if (device == nullptr) return Refusal::kTooManyDevices;
  const std::int64_t time_ns =
      sample.time_ns != 0 ? sample.time_ns : std::max(arrival_ns, device->last_time_ns);
  const Ordering standing = OrderingOf(sample, time_ns, CellOf(*device, time_ns), device.get());
  if (standing == Ordering::kDuplicate) return Refusal::kDuplicate;
  if (standing == Ordering::kLate) return Refusal::kTimeRunsBack;
  if (settings_.missing == ForecastSettings::Missing::kError &&
      std::any_of(sample.values.begin(), sample.values.end(),
                  [](double value) { return !Usable(value); }))
    return Refusal::kMissingField;
  if (settings_.late_labels())
    if (const Refusal refusal = SeeId(*device, sample.id); refusal != Refusal::kNone)
      return refusal;
  if (standing == Ordering::kBeginsAgain) BeginAgain(device.get(), sample);
  if (sample.sequence)
    totals_.gaps += static_cast<std::uint64_t>(device->sequences.Take(*sample.sequence));
  if (standing == Ordering::kOvertaken) ++totals_.late;
  ++totals_.messages;
  const bool follows = device->heard_time_ns != 0 && time_ns >= device->heard_time_ns;
  const float gap_s =
      follows ? static_cast<float>(time_ns - device->heard_time_ns) * 1e-9f : kUnknownGap;
  device->heard_time_ns = time_ns;
  device->last_time_ns = std::max(device->last_time_ns, time_ns);
  device->newest_time_ns = std::max(device->newest_time_ns, time_ns);
  device->last_arrival_ns = arrival_ns;
  if (settings_.every_s > 0) {
    TakeCell(device, sample.values, time_ns);
  } else if (Complete(device.get(), sample.values)) {
    TakeRow(device, whole_, time_ns, gap_s);
    device->row_sequence = sample.sequence;
    if (settings_.late_labels()) device->row_id = sample.id;
  }
  return Refusal::kNone;
}

std::shared_ptr<Device> Forecaster::Find(std::string_view name, std::int64_t now_ns) {
  if (const auto found = devices_.find(name); found != devices_.end()) return found->second;
  if (static_cast<int>(devices_.size()) >= settings_.max_devices && !MakeRoom(now_ns))
    return nullptr;
  auto device = std::make_shared<Device>(name, shape_);
  devices_.emplace(device->name, device);
  return device;
}

bool Forecaster::IsDue(std::string_view device) const {
  const auto found = devices_.find(device);
  return found != devices_.end() && found->second->due;
}

/// Forgets who has been silent for too long; false: nobody has. Looks at all of them, so no more
/// than once a second.
bool Forecaster::MakeRoom(std::int64_t now_ns) {
  if (now_ns < next_room_ns_) return false;
  next_room_ns_ = now_ns + kNanosecondsPerSecond;
  Predict();  // a forecast that is due may still change an alarm
  const auto silent = static_cast<std::int64_t>(settings_.forget_after_s * 1e9);
  return std::erase_if(devices_, [&](const auto& entry) {
           if (now_ns - entry.second->last_arrival_ns <= silent) return false;
           totals_.skipped += entry.second->cell_begun ? 1 : 0;
           Drop(entry.second.get());
           alarms_ -= entry.second->alarm.raised ? 1 : 0;
           return true;
         }) > 0;
}

/// Writes to whole_ the values of a row; what is missing is the last value, for a while. False: it
/// makes no row.
bool Forecaster::Complete(Device* device, std::span<const double> values) {
  whole_.assign(values.begin(), values.end());
  const auto last = device->Numbers(shape_.value, shape_.fields);
  bool stood_in = false, unknown = false;
  for (int i = 0; i < shape_.fields; ++i) {
    absent_[i] = !Usable(whole_[i]);
    if (!absent_[i]) continue;
    stood_in = true;
    whole_[i] = last[i];
    unknown |= !device->known;
  }
  if (!stood_in) {
    device->stood_in = 0;
    device->known = true;
    return true;
  }
  if (unknown) NoteRowless(device);
  if (settings_.missing != ForecastSettings::Missing::kHold || unknown) {
    totals_.skipped += unknown ? 0 : 1;
    return false;
  }
  if (++device->stood_in <= static_cast<std::uint32_t>(settings_.max_gap)) return true;
  if (device->rows > 0 && !settings_.late_labels()) Forget(device);
  ++totals_.skipped;
  return false;
}

/// Of a message (or cell) without a value for a field that has had none.
void Forecaster::NoteRowless(Device* device) {
  ++totals_.incomplete;
  if (++device->rowless != kRowlessBefore || !stuck_.empty()) return;
  std::string fields;
  for (int i = 0; i < shape_.fields; ++i)
    if (absent_[i]) fields += (fields.empty() ? "" : ", ") + settings_.fields[i].name;
  stuck_ = "device " + device->name + " has sent " + std::to_string(kRowlessBefore) +
           (settings_.every_s > 0 ? " cells" : " messages") +
           " and none with a value for every field (the last one had none for " + fields + ")";
}

/// What comes next has no past.
void Forecaster::Forget(Device* device) {
  if (device->due) Predict();
  Drop(device);
  device->Break();
  ++totals_.breaks;
}

/// Its clock was set back, or it was started again and counts anew.
void Forecaster::BeginAgain(Device* device, const Sample& sample) {
  if (settings_.late_labels()) {
    ++totals_.breaks;  // labels of the rows before still come
  } else {
    Forget(device);
  }
  totals_.skipped += device->cell_begun ? 1 : 0;
  const bool counts_anew = sample.sequence && *sample.sequence <= device->sequences.last() &&
                           sample.time_ns > device->newest_time_ns;
  device->BeginAgain();
  if (!counts_anew) return;
  device->sequences.Clear();  // what the former count had below it has come
  if (*sample.sequence > 0) device->sequences.BeginAt(*sample.sequence - 1);
}

/// Its open pairs will never be learned.
void Forecaster::Drop(Device* device) {
  totals_.unlearned += device->open;
  device->open = 0;
  std::ranges::fill(device->NearOpen(), 0u);
}

std::int64_t Forecaster::CellAt(std::int64_t time_ns) const {
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(time_ns) * 1e-9 / settings_.every_s));
}

CellState Forecaster::CellOf(const Device& device, std::int64_t time_ns) const {
  if (settings_.every_s <= 0) return CellState::kNone;
  const std::int64_t cell = CellAt(time_ns);
  if (!device.cell_begun || cell > device.cell) return CellState::kNone;
  return cell == device.cell ? CellState::kOpen : CellState::kClosed;
}

std::size_t Forecaster::open_cells() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(devices_, [](const auto& entry) { return entry.second->cell_begun; }));
}

/// The cell of the grid that a message lies in grows, or the one before it is closed. A late one
/// is no last value where another is.
void Forecaster::TakeCell(const std::shared_ptr<Device>& device, std::span<const double> values,
                          std::int64_t time_ns) {
  const std::int64_t cell = CellAt(time_ns);
  const bool is_late = time_ns < device->last_time_ns;
  if (device->cell_begun && cell == device->cell) ++totals_.joined;
  if (device->cell_begun && cell != device->cell) {
    CloseCell(device, device->cell);
    const std::int64_t empty = cell - device->cell - 1;
    if (empty > settings_.max_gap || settings_.missing != ForecastSettings::Missing::kHold) {
      if (empty > 0) Forget(device.get());
    } else {
      for (std::int64_t i = 1; i <= empty; ++i) CloseCell(device, device->cell + i);
      totals_.empty += static_cast<std::uint64_t>(std::max<std::int64_t>(empty, 0));
    }
  }
  device->cell = cell;
  device->cell_begun = true;
  const auto sum = device->Numbers(shape_.cell_sum, shape_.fields);
  const auto count = device->At(shape_.cell_count, shape_.fields);
  for (int i = 0; i < shape_.fields; ++i) {
    if (!Usable(values[i])) continue;
    const bool last = settings_.resample == ForecastSettings::Resample::kLast;
    if (last && is_late && count[i] > 0) continue;
    sum[i] = last ? values[i] : sum[i] + values[i];
    ++count[i];
  }
}

/// A cell that got nothing is a row of what was missing.
void Forecaster::CloseCell(const std::shared_ptr<Device>& device, std::int64_t cell) {
  const auto sum = device->Numbers(shape_.cell_sum, shape_.fields);
  const auto count = device->At(shape_.cell_count, shape_.fields);
  cell_.assign(static_cast<std::size_t>(shape_.fields), kNaN);
  for (int i = 0; i < shape_.fields; ++i) {
    if (count[i] == 0) continue;
    cell_[i] = settings_.resample == ForecastSettings::Resample::kMean ? sum[i] / count[i] : sum[i];
  }
  std::fill(sum.begin(), sum.end(), 0.0);
  std::fill(count.begin(), count.end(), 0.0f);
  const double end_s = static_cast<double>(cell + 1) * settings_.every_s;
  if (Complete(device.get(), cell_))
    TakeRow(device, whole_, static_cast<std::int64_t>(end_s * 1e9), 0.0f);
}

void Forecaster::TakeRow(const std::shared_ptr<Device>& device, std::span<const double> values,
                         std::int64_t time_ns, float gap_s) {
  if (device->due || due_.size() == kRound) Predict();
  device->row_time_ns = time_ns;
  const std::size_t place = due_.size();
  if (device->rows >= static_cast<std::uint64_t>(shape_.depth)) {
    const auto oldest = device->Row(device->rows);
    std::copy(oldest.begin(), oldest.end(), leaving_.data() + place * shape_.inputs);
  }
  if (!settings_.late_labels()) ScoreRow(device.get(), values);
  PutRow(device.get(), values, gap_s);
  ++device->rows;
  ++totals_.rows;
  if (settings_.late_labels()) {
    OpenLabel(device.get());
  } else {
    CountPairs(device);
  }
  device->due = true;
  due_.push_back(device);
}

/// NaN when another value stands in for it.
double Forecaster::ActualOf(int target, std::span<const double> values) const {
  const auto field = static_cast<std::size_t>(settings_.targets[target]);
  return absent_[field] ? kNaN : values[field];
}

/// How far a season ago lies from now, as the model sees it: the less, the worse the season is. In
/// usual errors of the last value alone it would be far away and drown what the model can use.
float Forecaster::SeasonInput(Device* device, int i, double away) const {
  const float usual = device->UsualError(i), season = device->SeasonAt(i).error;
  const float last = device->ScoreAt(i).baseline;
  return Cut(away, std::max(usual, season)) * (season > last ? last / season : 1.0f);
}

/// What the newest row says of the gap before it, in usual gaps. The gap before a beginning is no
/// usual one, and one row fewer than were seen had a gap.
float Forecaster::PutGap(Device* device, float gap_s) {
  if (gap_s == kUnknownGap) return 0.0f;
  float& usual = device->usual_gap_s;
  if (device->rows > 0)
    usual += ForgettingWeight(std::max(device->seen - 2.0f, 0.0f), settings_.normalize_over) *
             (gap_s - usual);
  return usual > 0 ? Cut(gap_s - usual, usual) : 0.0f;
}

/// Into the rings, in usual deviations: what is usual includes this row.
void Forecaster::PutRow(Device* device, std::span<const double> values, float gap_s) {
  const auto mean = device->Numbers(shape_.mean, shape_.fields);
  const auto variance = device->At(shape_.variance, shape_.fields);
  const auto change = device->At(shape_.change, shape_.fields);
  const auto last = device->Numbers(shape_.value, shape_.fields);
  const auto row = device->Row(device->rows);
  const float weight = ForgettingWeight(device->seen, settings_.normalize_over);
  const bool follows = device->rows > 0;
  std::size_t at = 0;
  for (int i = 0; i < shape_.fields; ++i) {
    const auto distance = static_cast<float>(values[i] - mean[i]);
    mean[i] += static_cast<double>(weight) * (values[i] - mean[i]);
    variance[i] = (1.0f - weight) * (variance[i] + weight * distance * distance);
    const float step = follows ? static_cast<float>(values[i] - last[i]) : 0.0f;
    if (follows) change[i] += weight * (step * step - change[i]);
    row[at++] = variance[i] > 0 ? Cut(values[i] - mean[i], std::sqrt(variance[i])) : 0.0f;
    row[at++] = change[i] > 0 ? Cut(step, std::sqrt(change[i])) : 0.0f;
    last[i] = values[i];
  }
  device->seen = std::min(device->seen + 1.0f, static_cast<float>(settings_.normalize_over));
  for (int i = 0; !settings_.late_labels() && i < shape_.targets; ++i)
    device->Target(device->rows, i) = ActualOf(i, values);
  if (settings_.every_s <= 0) row[at++] = PutGap(device, gap_s);
  for (int i = 0; settings_.season > 0 && i < shape_.targets; ++i) {
    const double now = values[static_cast<std::size_t>(settings_.targets[i])];
    const double then = SeasonOf(device, i * shape_.horizons, device->rows);
    row[at++] =
        std::isfinite(then - now) ? SeasonInput(device, i * shape_.horizons, then - now) : 0.0f;
  }
  if (settings_.late_labels()) PutLastLabel(device, row.subspan(at));
}

}  // namespace murmurate
