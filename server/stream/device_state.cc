#include "server/stream/device_state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <sstream>

#include "server/stream/device_parts.h"
#include "server/stream/own_labels.h"
#include "shared/core/check.h"
#include "shared/core/sha256.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kFormat = 2;
constexpr std::size_t kNumbers = 11;  ///< words of a device besides its name
constexpr std::size_t kLongestName = 1 << 16;

using Loaded = std::vector<std::shared_ptr<StreamDevice>>;

Status Damaged() { return InvalidData("what was saved of the stream's devices is damaged"); }

void PutName(const std::string& name, std::vector<std::uint64_t>* words) {
  words->push_back(name.size());
  for (std::size_t at = 0; at < name.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, name.data() + at, std::min(sizeof word, name.size() - at));
    words->push_back(word);
  }
}

/// Appends what a device has besides its parts.
void PutNumbers(const StreamDevice& device, std::uint64_t kept,
                std::vector<std::uint64_t>* numbers) {
  const std::uint64_t held = device.alarm.held;
  const std::uint64_t flags = (device.order.sequences().empty() ? 0 : 1) |
                              (device.cell.begun ? 2 : 0) | (device.missing.known ? 4 : 0) |
                              (device.alarm.raised ? 8 : 0) | held << 32;
  numbers->insert(numbers->end(),
                  {device.rows, device.order.sequences().last(),
                   static_cast<std::uint64_t>(device.order.last_time_ns()),
                   static_cast<std::uint64_t>(device.order.last_arrival_ns()),
                   static_cast<std::uint64_t>(device.cell.number), kept, device.missing.stood_in,
                   flags, std::bit_cast<std::uint32_t>(device.typical_gap_s),
                   std::bit_cast<std::uint32_t>(device.seen),
                   static_cast<std::uint64_t>(device.order.newest_time_ns())});
}

/// Calls use(name) for each; false when they are damaged.
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

/// A word that differs when the numbers of a device mean something else.
std::uint64_t MeaningOf(const ForecastSettings& settings) {
  std::ostringstream text;
  for (const StreamField& field : settings.fields) text << field.name << ' ';
  for (const int target : settings.targets) text << target << ' ';
  for (const int horizon : settings.horizons) text << 'h' << horizon << ' ';
  for (const double quantile : settings.quantiles) text << 'q' << quantile << ' ';
  text << settings.window << ' ' << settings.season << ' ' << settings.every_s << ' '
       << settings.per_device_state;
  for (const StreamField& label : settings.labels) text << " l" << label.name;
  if (settings.late_labels()) text << ' ' << settings.label_window;
  const Sha256Digest digest = Sha256(text.str());
  std::uint64_t word = 0;
  std::memcpy(&word, digest.data(), sizeof word);
  return word;
}

/// The pairs of each device and horizon that have not been learned: open, or in a batch.
PairQueue::Unlearned UnlearnedPairs(const DeviceShape& shape, const DeviceTable& table,
                                    const PairQueue& pairs) {
  PairQueue::Unlearned unlearned;
  for (const auto& [name, device] : table.all())
    for (int j = 0; j < shape.horizons; ++j) unlearned[{device.get(), j}] = device->open[j];
  pairs.AddGiven(&unlearned);
  for (auto& [key, open] : unlearned) open = shape.OpenOf(key.first->rows, key.second, open);
  return unlearned;
}

void SaveLabels(std::span<const StreamDevice* const> devices, const StateWriter& writer) {
  std::vector<std::uint64_t> words;
  for (const StreamDevice* device : devices) {
    words.push_back(device->label_row);
    device->labels.Save(&words);
  }
  writer.Words("labels", words);
  words.clear();
  for (const StreamDevice* device : devices) device->early->Save(&words);
  writer.Words("early", words);
}

Status LoadLabels(const DeviceShape& shape, std::span<StreamDevice* const> devices,
                  const StateReader& reader) {
  const auto words = reader.AllWords("labels");
  if (!words.ok()) return words.status();
  const std::size_t each = 1 + LabelSlots(shape.label_window).words();
  bool whole = words->size() == devices.size() * each;
  for (std::size_t i = 0; whole && i < devices.size(); ++i) {
    StreamDevice* const device = devices[i];
    device->label_row = (*words)[i * each];
    whole = device->label_row <= device->rows &&
            device->labels.Load(words->subspan(i * each + 1, each - 1), device->rows);
    device->open.farthest() = device->labels.Untaught();
  }
  // Saved before there were any: none.
  std::span<const std::uint64_t> early;
  if (const auto saved = reader.AllWords("early"); saved.ok()) early = *saved;
  for (std::size_t i = 0; whole && !early.empty() && i < devices.size(); ++i)
    whole = devices[i]->early->Load(&early);
  if (whole && early.empty()) return {};
  return InvalidData("what was saved of the labels of the stream's devices is damaged");
}

/// The sequence numbers that have come, of the devices whose messages have some.
Status LoadWindows(std::span<StreamDevice* const> devices, const StateReader& reader) {
  const auto words = reader.AllWords("windows");
  if (!words.ok()) return words.status();
  std::span<const std::uint64_t> rest = *words;
  for (StreamDevice* device : devices) {
    if (device->order.sequences().empty()) continue;
    const std::size_t size = std::min(rest.size(), SequenceWindow::kWords);
    if (!device->order.sequences().Load(rest.first(size))) return Damaged();
    rest = rest.subspan(size);
  }
  return rest.empty() ? Status() : Damaged();
}

/// Loads what is open at nearer horizons.
Status LoadNear(const DeviceShape& shape, std::span<StreamDevice* const> devices,
                const StateReader& reader) {
  const auto each = static_cast<std::size_t>(shape.horizons - 1);
  std::vector<std::uint64_t> near(devices.size() * each);
  if (!near.empty()) MURMURATE_RETURN_IF_ERROR(reader.Words("near", near));
  for (std::size_t i = 0; i < near.size(); ++i) {
    StreamDevice* const device = devices[i / each];
    const int j = static_cast<int>(i % each);
    device->open[j] = shape.OpenOf(device->rows, j, near[i]);
  }
  return {};
}

/// Format 1 learned a row at all horizons at once, when the farthest was there; and with a season
/// its model counted from that, so what is known of its errors says nothing of it now.
void GoOnFromBlocks(const DeviceShape& shape, std::span<StreamDevice* const> devices) {
  for (StreamDevice* device : devices) {
    for (int j = 0; j + 1 < shape.horizons; ++j) {
      const int ahead = shape.ahead.back() - shape.ahead[static_cast<std::size_t>(j)];
      const std::uint64_t open = device->open.farthest() + static_cast<std::uint64_t>(ahead);
      device->open[j] = shape.OpenOf(device->rows, j, open);
    }
    for (int i = 0; shape.season > 0 && i < shape.scores; ++i) device->ScoreAt(i) = {};
  }
}

/// Loads all of a device but its parts, sequence numbers and labels.
void LoadNumbers(const ForecastSettings& settings, std::span<const std::uint64_t> numbers,
                 StreamDevice* device) {
  device->rows = numbers[0];
  device->order.GoOnFrom(static_cast<std::int64_t>(numbers[2]),
                         static_cast<std::int64_t>(numbers[3]),
                         static_cast<std::int64_t>(numbers[10]));
  device->cell = {static_cast<std::int64_t>(numbers[4]), (numbers[7] & 2) != 0};
  if (!settings.late_labels())
    device->open.farthest() =
        device->shape.OpenOf(device->rows, device->shape.horizons - 1, numbers[5]);
  device->missing.stood_in = static_cast<std::uint32_t>(numbers[6]);
  if ((numbers[7] & 1) != 0) device->order.sequences().BeginAt(numbers[1]);
  device->missing.known = (numbers[7] & 4) != 0;
  if (settings.alarm)
    device->alarm = {static_cast<std::uint32_t>(numbers[7] >> 32), (numbers[7] & 8) != 0};
  device->typical_gap_s = std::bit_cast<float>(static_cast<std::uint32_t>(numbers[8]));
  device->seen = std::bit_cast<float>(static_cast<std::uint32_t>(numbers[9]));
}

/// Loads what format 2 has beside the numbers of devices.
Status LoadRest(const ForecastSettings& settings, const DeviceShape& shape,
                std::span<StreamDevice* const> devices, const StateReader& reader) {
  if (IsFormatOne(reader)) {
    MURMURATE_RETURN_IF_ERROR(LoadBlocks(shape, devices, reader));
    GoOnFromBlocks(shape, devices);
  } else {
    MURMURATE_RETURN_IF_ERROR(LoadParts(shape, devices, reader));
    MURMURATE_RETURN_IF_ERROR(LoadNear(shape, devices, reader));
    MURMURATE_RETURN_IF_ERROR(LoadWindows(devices, reader));
  }
  return settings.late_labels() ? LoadLabels(shape, devices, reader) : Status();
}

}  // namespace

bool IsFormatOne(const StateReader& reader) { return !reader.AllWords("format").ok(); }

std::uint64_t SaveDevices(const ForecastSettings& settings, const DeviceShape& shape,
                          const DeviceTable& table, const PairQueue& pairs,
                          const StateWriter& writer) {
  const bool late = settings.late_labels();
  const auto unlearned = late ? PairQueue::Unlearned() : UnlearnedPairs(shape, table, pairs);
  std::vector<std::uint64_t> names, numbers, near, windows;
  std::vector<const StreamDevice*> devices;
  std::uint64_t all_kept = 0;
  for (const auto& [name, device] : table.all()) {
    const std::uint64_t kept =
        late ? device->labels.Untaught() : unlearned.at({device.get(), shape.horizons - 1});
    all_kept += settings.own_labels()
                    ? CountLabelled(device.get(), device->rows - kept, device->rows)
                    : kept;
    for (int j = 0; j + 1 < shape.horizons; ++j) near.push_back(unlearned.at({device.get(), j}));
    PutName(name, &names);
    PutNumbers(*device, kept, &numbers);
    devices.push_back(device.get());
    const SequenceWindow& sequences = device->order.sequences();
    if (!sequences.empty()) sequences.Save(&windows);
  }
  writer.Words("format", {{kFormat}});
  writer.Words("shape", {{shape.floats + shape.doubles, MeaningOf(settings)}});
  writer.Words("names", names);
  writer.Words("numbers", numbers);
  writer.Words("windows", windows);
  writer.Words("near", near);
  SaveParts(shape, devices, writer);
  if (late) SaveLabels(devices, writer);
  return all_kept;
}

Result<std::vector<std::shared_ptr<StreamDevice>>> LoadDevices(const ForecastSettings& settings,
                                                               const DeviceShape& shape,
                                                               const StateReader& reader,
                                                               DeviceTable* table) {
  std::array<std::uint64_t, 2> saved{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("shape", saved));
  const std::size_t size = IsFormatOne(reader) ? BlockFloats(shape) : shape.floats + shape.doubles;
  if (saved != std::array<std::uint64_t, 2>{size, MeaningOf(settings)})
    return InvalidArgument(
        "the saved stream has other fields, targets, horizons, quantiles, or another window, "
        "season, grid or label_window; go on with those, or begin a new run");
  const auto names = reader.AllWords("names");
  const auto numbers = reader.AllWords("numbers");
  if (!names.ok()) return names.status();
  if (!numbers.ok()) return numbers.status();
  Loaded loaded;
  const bool whole =
      ForEachName(*names, [&](const std::string& name) { loaded.push_back(table->Add(name)); });
  if (!whole || numbers->size() != loaded.size() * kNumbers) return Damaged();
  std::vector<StreamDevice*> devices;
  for (const auto& device : loaded) {
    LoadNumbers(settings, numbers->subspan(devices.size() * kNumbers, kNumbers), device.get());
    devices.push_back(device.get());
  }
  MURMURATE_RETURN_IF_ERROR(LoadRest(settings, shape, devices, reader));
  return loaded;
}

Result<std::vector<std::pair<std::string, std::uint64_t>>> SavedSequences(
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
  if (!whole) return Damaged();
  return sequences;
}

}  // namespace murmurate
