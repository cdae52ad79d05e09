#include "server/stream/device_table.h"

#include <utility>

#include "shared/core/clock.h"

namespace murmurate {

DeviceTable::DeviceTable(const ForecastSettings& settings, const DeviceShape& shape, Events events)
    : settings_(settings), shape_(shape), events_(std::move(events)) {}

std::shared_ptr<StreamDevice> DeviceTable::Find(std::string_view name) const {
  const auto found = devices_.find(name);
  return found == devices_.end() ? nullptr : found->second;
}

std::shared_ptr<StreamDevice> DeviceTable::FindOrAdd(std::string_view name, std::int64_t now_ns) {
  if (const auto found = devices_.find(name); found != devices_.end()) return found->second;
  if (static_cast<int>(devices_.size()) >= settings_.max_devices && !MakeRoom(now_ns))
    return nullptr;
  return Add(name);
}

std::shared_ptr<StreamDevice> DeviceTable::Add(std::string_view name) {
  auto device = std::make_shared<StreamDevice>(name, shape_);
  return devices_.emplace(device->name, std::move(device)).first->second;
}

/// Forgets the devices that have been silent for too long; false: there are none. Visits all of
/// them, so no more than once a second.
bool DeviceTable::MakeRoom(std::int64_t now_ns) {
  if (now_ns < next_room_ns_) return false;
  next_room_ns_ = now_ns + kNanosecondsPerSecond;
  events_.before_forgetting();
  const auto silent = static_cast<std::int64_t>(settings_.forget_after_s * 1e9);
  return std::erase_if(devices_, [&](const auto& entry) {
           if (now_ns - entry.second->order.last_arrival_ns() <= silent) return false;
           events_.on_forget(entry.second.get());
           return true;
         }) > 0;
}

}  // namespace murmurate
