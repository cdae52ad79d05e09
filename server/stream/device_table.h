// DeviceTable: the devices of a stream by their names, at most max_devices. A new one takes the
// place of those that have been silent for forget_after_s.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/stream/device.h"

namespace murmurate {

class DeviceTable {
 public:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Devices =
      std::unordered_map<std::string, std::shared_ptr<StreamDevice>, Hash, std::equal_to<>>;

  struct Events {
    std::function<void()> before_forgetting;       ///< some devices, perhaps
    std::function<void(StreamDevice*)> on_forget;  ///< this one, which is there for the last time
  };

  /// Both outlive it.
  DeviceTable(const ForecastSettings& settings, const DeviceShape& shape, Events events);

  /// Null: there is none of this name.
  std::shared_ptr<StreamDevice> Find(std::string_view name) const;
  /// The device of this name, a new one if there is none; null: the table is full.
  std::shared_ptr<StreamDevice> FindOrAdd(std::string_view name, std::int64_t now_ns);
  /// Adds a device even when the table is full.
  std::shared_ptr<StreamDevice> Add(std::string_view name);
  const Devices& all() const { return devices_; }

 private:
  bool MakeRoom(std::int64_t now_ns);

  const ForecastSettings& settings_;
  const DeviceShape& shape_;
  const Events events_;
  Devices devices_;
  std::int64_t next_room_ns_ = 0;
};

}  // namespace murmurate
