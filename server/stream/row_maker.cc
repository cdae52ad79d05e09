#include "server/stream/row_maker.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint32_t kRowlessBefore = 20;  ///< messages, before a device is said to be stuck

}  // namespace

RowMaker::RowMaker(const ForecastSettings& settings, const DeviceShape& shape, Events events)
    : settings_(settings),
      shape_(shape),
      events_(std::move(events)),
      held_(static_cast<std::size_t>(shape.fields)) {}

bool RowMaker::Add(const std::shared_ptr<StreamDevice>& device, std::span<const double> values,
                   std::int64_t time_ns, float gap_s) {
  if (settings_.every_s > 0) {
    AddToCell(device, values, time_ns);
    return false;
  }
  if (!Complete(device.get(), values)) return false;
  events_.on_row(device, {whole_, held_}, time_ns, gap_s);
  return true;
}

/// Writes to whole_ the values of a row; what is missing is the last value, for a while. False: it
/// makes no row.
bool RowMaker::Complete(StreamDevice* device, std::span<const double> values) {
  whole_.assign(values.begin(), values.end());
  const auto last = device->Doubles(Part::kValue);
  StreamDevice::Missing& missing = device->missing;
  bool stood_in = false, unknown = false;
  for (int i = 0; i < shape_.fields; ++i) {
    held_[i] = !Usable(whole_[i]);
    if (!held_[i]) continue;
    stood_in = true;
    whole_[i] = last[i];
    unknown |= !missing.known;
  }
  if (!stood_in) {
    missing.stood_in = 0;
    missing.known = true;
    return true;
  }
  if (unknown) NoteRowless(device);
  if (settings_.missing != ForecastSettings::Missing::kHold || unknown) {
    counts_.skipped += unknown ? 0 : 1;
    return false;
  }
  if (++missing.stood_in <= static_cast<std::uint32_t>(settings_.max_gap)) return true;
  if (device->rows > 0 && !settings_.late_labels()) events_.on_break(device);
  ++counts_.skipped;
  return false;
}

/// Counts a message (or cell) without a value for a field that has had none.
void RowMaker::NoteRowless(StreamDevice* device) {
  ++counts_.incomplete;
  if (++device->missing.rowless != kRowlessBefore || !stuck_.empty()) return;
  std::string fields;
  for (int i = 0; i < shape_.fields; ++i)
    if (held_[i]) fields += (fields.empty() ? "" : ", ") + settings_.fields[i].name;
  stuck_ = "device " + device->name + " has sent " + std::to_string(kRowlessBefore) +
           (settings_.every_s > 0 ? " cells" : " messages") +
           " and none with a value for every field (the last one had none for " + fields + ")";
}

std::int64_t RowMaker::CellAt(std::int64_t time_ns) const {
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(time_ns) * 1e-9 / settings_.every_s));
}

CellState RowMaker::CellOf(const StreamDevice& device, std::int64_t time_ns) const {
  if (settings_.every_s <= 0) return CellState::kNone;
  const std::int64_t cell = CellAt(time_ns);
  if (!device.cell.begun || cell > device.cell.number) return CellState::kNone;
  return cell == device.cell.number ? CellState::kOpen : CellState::kClosed;
}

void RowMaker::DiscardCell(StreamDevice* device) {
  counts_.skipped += device->cell.begun ? 1 : 0;
  device->cell.begun = false;
  std::ranges::fill(device->Doubles(Part::kCellSum), 0.0);
  std::ranges::fill(device->Floats(Part::kCellCount), 0.0f);
}

/// The cell of the grid that a message lies in grows, or the one before it is closed. A late
/// message is no last value where another is.
void RowMaker::AddToCell(const std::shared_ptr<StreamDevice>& device,
                         std::span<const double> values, std::int64_t time_ns) {
  const std::int64_t cell = CellAt(time_ns);
  const std::int64_t before = device->cell.number;
  const bool is_late = time_ns < device->order.last_time_ns();
  if (device->cell.begun && cell == before) ++counts_.joined;
  if (device->cell.begun && cell != before) {
    CloseCell(device, before);
    const std::int64_t empty = cell - before - 1;
    if (empty > settings_.max_gap || settings_.missing != ForecastSettings::Missing::kHold) {
      if (empty > 0) events_.on_break(device.get());
    } else {
      for (std::int64_t i = 1; i <= empty; ++i) CloseCell(device, before + i);
      counts_.empty += static_cast<std::uint64_t>(std::max<std::int64_t>(empty, 0));
    }
  }
  device->cell = {cell, true};
  const auto sum = device->Doubles(Part::kCellSum);
  const auto count = device->Floats(Part::kCellCount);
  for (int i = 0; i < shape_.fields; ++i) {
    if (!Usable(values[i])) continue;
    const bool last = settings_.resample == ForecastSettings::Resample::kLast;
    if (last && is_late && count[i] > 0) continue;
    sum[i] = last ? values[i] : sum[i] + values[i];
    ++count[i];
  }
}

/// A cell that got nothing is a row of what was missing.
void RowMaker::CloseCell(const std::shared_ptr<StreamDevice>& device, std::int64_t cell) {
  const auto sum = device->Doubles(Part::kCellSum);
  const auto count = device->Floats(Part::kCellCount);
  cell_.assign(static_cast<std::size_t>(shape_.fields), kNaN);
  for (int i = 0; i < shape_.fields; ++i) {
    if (count[i] == 0) continue;
    cell_[i] = settings_.resample == ForecastSettings::Resample::kMean ? sum[i] / count[i] : sum[i];
  }
  std::ranges::fill(sum, 0.0);
  std::ranges::fill(count, 0.0f);
  const double end_s = static_cast<double>(cell + 1) * settings_.every_s;
  if (Complete(device.get(), cell_))
    events_.on_row(device, {whole_, held_}, static_cast<std::int64_t>(end_s * 1e9), 0.0f);
}

}  // namespace murmurate
