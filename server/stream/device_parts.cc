#include "server/stream/device_parts.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The parts of format 1, in the order in which its block had them.
constexpr std::array<std::string_view, 20> kBlockParts = {
    "value",       "mean",          "variance",    "change",    "cell_sum",
    "cell_count",  "scale",         "scaled",      "score",     "rows",
    "row_targets", "forecasts",     "by_model",    "row_naive", "label_last",
    "label_mean",  "label_outside", "labels_seen", "head",      "tail"};

std::string NameOf(const DevicePart& part) { return std::string("part.") + part.name; }

template <typename Number, typename Block>
std::vector<Number> Gathered(const DevicePart& part, std::span<const StreamDevice* const> devices,
                             Block StreamDevice::*block) {
  std::vector<Number> all;
  all.reserve(devices.size() * part.count);
  for (const StreamDevice* device : devices) {
    const Number* const first = (device->*block).get() + part.offset;
    all.insert(all.end(), first, first + part.count);
  }
  return all;
}

template <typename Number, typename Block>
void Spread(const DevicePart& part, const std::vector<Number>& all,
            std::span<StreamDevice* const> devices, Block StreamDevice::*block) {
  for (std::size_t i = 0; i < devices.size(); ++i)
    std::copy_n(all.data() + i * part.count, part.count, (devices[i]->*block).get() + part.offset);
}

const DevicePart* Find(const DeviceShape& shape, std::string_view name) {
  const auto found = std::ranges::find(shape.parts, name, &DevicePart::name);
  return found == shape.parts.end() ? nullptr : &*found;
}

}  // namespace

void SaveParts(const DeviceShape& shape, std::span<const StreamDevice* const> devices,
               const StateWriter& writer) {
  for (const DevicePart& part : shape.parts) {
    if (part.count == 0) continue;
    if (part.is_double)
      writer.Doubles(NameOf(part), Gathered<double>(part, devices, &StreamDevice::numbers));
    else
      writer.Floats(NameOf(part), Gathered<float>(part, devices, &StreamDevice::block));
  }
}

Status LoadParts(const DeviceShape& shape, std::span<StreamDevice* const> devices,
                 const StateReader& reader) {
  for (const DevicePart& part : shape.parts) {
    if (part.count == 0) continue;
    if (part.is_double) {
      std::vector<double> all(devices.size() * part.count);
      MURMURATE_RETURN_IF_ERROR(reader.Doubles(NameOf(part), all));
      Spread(part, all, devices, &StreamDevice::numbers);
    } else {
      std::vector<float> all(devices.size() * part.count);
      MURMURATE_RETURN_IF_ERROR(reader.Floats(NameOf(part), all));
      Spread(part, all, devices, &StreamDevice::block);
    }
  }
  return {};
}

std::size_t BlockFloats(const DeviceShape& shape) {
  std::size_t floats = 0;
  for (const std::string_view name : kBlockParts)
    if (const DevicePart* part = Find(shape, name)) floats += part->count;
  return floats;
}

Status LoadBlocks(const DeviceShape& shape, std::span<StreamDevice* const> devices,
                  const StateReader& reader) {
  std::vector<float> blocks(devices.size() * BlockFloats(shape));
  MURMURATE_RETURN_IF_ERROR(reader.Floats("blocks", blocks));
  const float* from = blocks.data();
  for (StreamDevice* device : devices)
    for (const std::string_view name : kBlockParts) {
      const DevicePart* part = Find(shape, name);
      if (part == nullptr) continue;
      if (part->is_double)
        std::copy_n(from, part->count, device->numbers.get() + part->offset);
      else
        std::copy_n(from, part->count, device->block.get() + part->offset);
      from += part->count;
    }
  return {};
}

}  // namespace murmurate
