// What Forecaster saves in a checkpoint and goes on from.
#include <algorithm>
#include <bit>
#include <cstring>
#include <sstream>

#include "server/stream/device_state.h"
#include "server/stream/forecaster.h"
#include "shared/core/check.h"
#include "shared/core/sha256.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kFormat = 2;
constexpr std::size_t kNumbers = 11;  ///< words of a device besides its name
constexpr std::size_t kLongestName = 1 << 16;

void PutName(const std::string& name, std::vector<std::uint64_t>* words) {
  words->push_back(name.size());
  for (std::size_t at = 0; at < name.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + at, std::min(sizeof word, name.size() - at));
    words->push_back(word);
  }
}

/// What a device has besides its parts.
void PutNumbers(const Device& device, std::uint64_t kept, std::vector<std::uint64_t>* numbers) {
  const std::uint64_t held = device.alarm.held;
  const std::uint64_t flags = (device.sequences.empty() ? 0 : 1) | (device.cell_begun ? 2 : 0) |
                              (device.known ? 4 : 0) | (device.alarm.raised ? 8 : 0) | held << 32;
  numbers->insert(
      numbers->end(),
      {device.rows, device.sequences.last(), static_cast<std::uint64_t>(device.last_time_ns),
       static_cast<std::uint64_t>(device.last_arrival_ns), static_cast<std::uint64_t>(device.cell),
       kept, device.stood_in, flags, std::bit_cast<std::uint32_t>(device.usual_gap_s),
       std::bit_cast<std::uint32_t>(device.seen),
       static_cast<std::uint64_t>(device.newest_time_ns)});
}

/// Calls use(name) for each; false when they are bent.
template <typename Use>
bool ForEachName(std::span<const std::uint64_t> words, Use use) {
  while (!words.empty()) {
    const std::uint64_t size = words[0];
    const std::uint64_t taken = 1 + (size + 7) / 8;
    if (size > kLongestName || taken > words.size()) return false;
    use(std::string(reinterpret_cast<const char*>(words.data() + 1), size));
    words = words.subspan(taken);
  }
  return true;
}

Status Bent();

/// Of the devices whose messages have numbers.
Status LoadWindows(std::span<Device* const> devices, const StateReader& reader) {
  const auto words = reader.AllWords("windows");
  if (!words.ok()) return words.status();
  std::span<const std::uint64_t> rest = *words;
  for (Device* device : devices) {
    if (device->sequences.empty()) continue;
    const std::size_t size = std::min(rest.size(), SequenceWindow::kWords);
    if (!device->sequences.Load(rest.first(size))) return Bent();
    rest = rest.subspan(size);
  }
  return rest.empty() ? Status() : Bent();
}

Status Bent() { return InvalidData("what was saved of the stream's devices is damaged"); }

}  // namespace

/// Of what the numbers of a device mean.
std::uint64_t Forecaster::Meaning() const {
  std::ostringstream text;
  for (const StreamField& field : settings_.fields) text << field.name << ' ';
  for (const int target : settings_.targets) text << target << ' ';
  for (const int horizon : settings_.horizons) text << 'h' << horizon << ' ';
  for (const double quantile : settings_.quantiles) text << 'q' << quantile << ' ';
  text << settings_.window << ' ' << settings_.season << ' ' << settings_.every_s << ' '
       << settings_.per_device_state;
  for (const StreamField& label : settings_.labels) text << " l" << label.name;
  if (settings_.late_labels()) text << ' ' << settings_.label_window;
  const Sha256Digest digest = Sha256(text.str());
  std::uint64_t word = 0;
  std::memcpy(&word, digest.data(), sizeof word);
  return word;
}

/// How many of `open` pairs of the j-th horizon a device with so many rows can still give.
std::uint32_t Forecaster::OpenOf(std::uint64_t rows, int j, std::uint64_t open) const {
  const auto at = static_cast<std::size_t>(j);
  const auto horizon = static_cast<std::uint64_t>(settings_.horizons[at]);
  const std::uint64_t complete = rows > horizon ? rows - horizon : 0;
  return static_cast<std::uint32_t>(
      std::min({open, complete, static_cast<std::uint64_t>(shape_.most_open[at])}));
}

/// Of each device and horizon, the pairs that have not been learned: open, or in a batch.
Forecaster::Unlearned Forecaster::UnlearnedPairs() const {
  Unlearned pairs;
  for (const auto& [name, device] : devices_)
    for (int j = 0; j < shape_.horizons; ++j) pairs[{device.get(), j}] = device->Open(j);
  for (const auto& batch : given_)
    for (const Given& one : batch) pairs[{one.device.get(), one.horizon}] += one.pairs;
  for (auto& [key, open] : pairs) open = OpenOf(key.first->rows, key.second, open);
  return pairs;
}

void Forecaster::Save(const StateWriter& writer) const {
  MURMURATE_CHECK(due_.empty(), "a stream is saved between rounds");
  const Unlearned unlearned = settings_.late_labels() ? Unlearned() : UnlearnedPairs();
  std::vector<std::uint64_t> names, numbers, near, windows;
  std::vector<const Device*> devices;
  std::uint64_t all_kept = 0;
  for (const auto& [name, device] : devices_) {
    const std::uint64_t kept = settings_.late_labels()
                                   ? device->labels.Untaught()
                                   : unlearned.at({device.get(), shape_.horizons - 1});
    all_kept += kept;
    for (int j = 0; j + 1 < shape_.horizons; ++j) near.push_back(unlearned.at({device.get(), j}));
    PutName(name, &names);
    PutNumbers(*device, kept, &numbers);
    devices.push_back(device.get());
    if (!device->sequences.empty()) device->sequences.Save(&windows);
  }
  writer.Words("format", {{kFormat}});
  writer.Words("shape", {{shape_.floats + shape_.doubles, Meaning()}});
  writer.Words("names", names);
  writer.Words("numbers", numbers);
  writer.Words("windows", windows);
  SaveParts(shape_, devices, writer);
  SaveRest(near, writer);
  if (settings_.late_labels()) SaveLabels(writer);
  SaveTotals(all_kept, writer);
}

/// `kept`: pairs that a Forecaster loaded from this state can learn; the other pairs that were not
/// learned are saved as unlearned.
void Forecaster::SaveTotals(std::uint64_t kept, const StateWriter& writer) const {
  const Totals& t = totals_;
  writer.Words("totals", {{t.messages, t.rows, t.forecasts, t.complete, t.learned,
                           t.complete - t.learned - kept, t.gaps, t.breaks, t.drifts}});
  writer.Words("more_totals", {{t.late, t.incomplete, t.skipped, t.joined, t.empty}});
  writer.Doubles("errors", {{t.model_error, t.baseline_error, t.published_error, t.scored}});
  const PageHinkley::State& drift = drift_.state();
  writer.Doubles("drift", {{drift.count, drift.mean, drift.sum, drift.lowest}});
}

Status Forecaster::Load(const StateReader& reader) {
  std::array<std::uint64_t, 2> shape{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("shape", shape));
  const bool blocks = !reader.AllWords("format").ok();  // they came with format 2
  const std::size_t size = blocks ? BlockFloats(shape_) : shape_.floats + shape_.doubles;
  if (shape != std::array<std::uint64_t, 2>{size, Meaning()})
    return InvalidArgument(
        "the saved stream has other fields, targets, horizons, quantiles, or another window, "
        "season, grid or label_window; go on with those, or begin a new run");
  const auto names = reader.AllWords("names");
  const auto numbers = reader.AllWords("numbers");
  if (!names.ok()) return names.status();
  if (!numbers.ok()) return numbers.status();
  std::vector<std::string> all;
  if (!ForEachName(*names, [&](std::string name) { all.push_back(std::move(name)); }))
    return Bent();
  if (numbers->size() != all.size() * kNumbers) return Bent();
  MURMURATE_RETURN_IF_ERROR(LoadTotals(blocks, reader));
  std::vector<Device*> loaded;
  for (std::size_t i = 0; i < all.size(); ++i)
    loaded.push_back(LoadDevice(all[i], numbers->subspan(i * kNumbers, kNumbers)));
  MURMURATE_RETURN_IF_ERROR(blocks ? LoadBlocks(shape_, loaded, reader)
                                   : LoadParts(shape_, loaded, reader));
  MURMURATE_RETURN_IF_ERROR(blocks ? GoOnFromBlocks(loaded) : LoadRest(loaded, reader));
  if (!blocks) MURMURATE_RETURN_IF_ERROR(LoadWindows(loaded, reader));
  if (settings_.late_labels()) return LoadLabels(all, reader);
  for (const auto& [name, device] : devices_)
    if (settings_.learn && device->HasOpen()) StandInLine(device);
  return {};
}

void Forecaster::SaveRest(std::span<const std::uint64_t> near, const StateWriter& writer) const {
  writer.Words("near", near);
  std::vector<float> pools;
  for (const QuantileTracker& tracker : trackers_)
    pools.insert(pools.end(), tracker.pool().begin(), tracker.pool().end());
  writer.Floats("pools", pools);
}

/// What is open at nearer horizons, and where quantiles start.
Status Forecaster::LoadRest(std::span<Device* const> devices, const StateReader& reader) {
  const auto each = static_cast<std::size_t>(shape_.horizons - 1);
  std::vector<std::uint64_t> near(devices.size() * each);
  if (!near.empty()) MURMURATE_RETURN_IF_ERROR(reader.Words("near", near));
  for (std::size_t i = 0; i < near.size(); ++i) {
    Device* const device = devices[i / each];
    const int j = static_cast<int>(i % each);
    device->Open(j) = OpenOf(device->rows, j, near[i]);
  }
  std::vector<float> pools(trackers_.size() * settings_.quantiles.size());
  if (!pools.empty()) MURMURATE_RETURN_IF_ERROR(reader.Floats("pools", pools));
  for (std::size_t i = 0; i < trackers_.size(); ++i)
    trackers_[i].GoOnFrom(
        std::span(pools).subspan(i * settings_.quantiles.size(), settings_.quantiles.size()));
  return {};
}

/// Format 1 learned a row at all horizons at once, when the farthest was there; and with a season
/// its model counted from that, so what is known of its errors says nothing of it now.
Status Forecaster::GoOnFromBlocks(std::span<Device* const> devices) {
  for (Device* device : devices) {
    for (int j = 0; j + 1 < shape_.horizons; ++j) {
      const int ahead = shape_.last_horizon - settings_.horizons[static_cast<std::size_t>(j)];
      device->Open(j) = OpenOf(device->rows, j, device->open + static_cast<std::uint64_t>(ahead));
    }
    for (int i = 0; settings_.season > 0 && i < shape_.scores; ++i) device->ScoreAt(i) = {};
  }
  return {};
}

Status Forecaster::LoadTotals(bool blocks, const StateReader& reader) {
  std::array<std::uint64_t, 9> t{};
  std::array<double, 4> errors{}, drift{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("totals", t));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("errors", errors));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("drift", drift));
  std::array<std::uint64_t, 5> more{};
  if (!blocks) MURMURATE_RETURN_IF_ERROR(reader.Words("more_totals", more));
  totals_ = {.messages = t[0],
             .rows = t[1],
             .forecasts = t[2],
             .complete = t[3],
             .learned = t[4],
             .unlearned = t[5],
             .gaps = t[6],
             .breaks = t[7],
             .drifts = t[8],
             .late = more[0],
             .incomplete = more[1],
             .skipped = more[2],
             .joined = more[3],
             .empty = more[4],
             .model_error = errors[0],
             .baseline_error = errors[1],
             .published_error = errors[2],
             .scored = errors[3]};
  drift_.GoOnFrom({drift[0], drift[1], drift[2], drift[3]});
  return {};
}

/// All but its parts.
Device* Forecaster::LoadDevice(const std::string& name, std::span<const std::uint64_t> numbers) {
  auto device = std::make_shared<Device>(name, shape_);
  device->rows = numbers[0];
  device->last_time_ns = device->heard_time_ns = static_cast<std::int64_t>(numbers[2]);
  device->last_arrival_ns = static_cast<std::int64_t>(numbers[3]);
  device->cell = static_cast<std::int64_t>(numbers[4]);
  if (!settings_.late_labels())
    device->open = OpenOf(device->rows, shape_.horizons - 1, numbers[5]);
  device->stood_in = static_cast<std::uint32_t>(numbers[6]);
  if ((numbers[7] & 1) != 0) device->sequences.BeginAt(numbers[1]);
  device->cell_begun = (numbers[7] & 2) != 0;
  device->known = (numbers[7] & 4) != 0;
  if (settings_.alarm)
    device->alarm = {static_cast<std::uint32_t>(numbers[7] >> 32), (numbers[7] & 8) != 0};
  if (device->alarm.raised) ++alarms_;
  device->usual_gap_s = std::bit_cast<float>(static_cast<std::uint32_t>(numbers[8]));
  device->seen = std::bit_cast<float>(static_cast<std::uint32_t>(numbers[9]));
  device->newest_time_ns = static_cast<std::int64_t>(numbers[10]);
  return (devices_[name] = std::move(device)).get();
}

Result<std::vector<std::pair<std::string, std::uint64_t>>> Forecaster::SavedSequences(
    const StateReader& reader) {
  const auto names = reader.AllWords("names");
  const auto numbers = reader.AllWords("numbers");
  if (!names.ok()) return names.status();
  if (!numbers.ok()) return numbers.status();
  std::vector<std::pair<std::string, std::uint64_t>> sequences;
  std::size_t i = 0;
  const bool whole = ForEachName(*names, [&](std::string name) {
    if ((i + 1) * kNumbers > numbers->size()) return;
    const auto mine = numbers->subspan(i++ * kNumbers, kNumbers);
    if ((mine[7] & 1) != 0) sequences.emplace_back(std::move(name), mine[1]);
  });
  if (!whole) return Bent();
  return sequences;
}

std::size_t Forecaster::bytes_per_device() const {
  return sizeof(Device) + shape_.floats * sizeof(float) + shape_.doubles * sizeof(double) +
         LabelSlots(shape_.label_window).bytes();
}

}  // namespace murmurate
