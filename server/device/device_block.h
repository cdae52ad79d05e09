// DeviceBlock: numbers on a device, of a type that is chosen when they are planned.
#pragma once

#include "server/compute/device/calls/elements.h"
#include "server/compute/device/device_memory.h"
#include "shared/core/check.h"

namespace murmurate {

class DeviceBlock {
 public:
  DeviceBlock() = default;
  DeviceBlock(DeviceArray<float> floats) : floats_(floats) {}
  DeviceBlock(DeviceMemory* memory, MemoryPurpose purpose, std::size_t count, ElementType type)
      : type_(type) {
    if (type == ElementType::kBf16)
      halves_ = memory->Plan<std::uint16_t>(purpose, count);
    else
      floats_ = memory->Plan<float>(purpose, count);
  }

  ElementType type() const { return type_; }
  std::size_t bytes() const { return floats_.bytes() + halves_.bytes(); }
  /// On the device; its memory must have been allocated.
  void* data() const {
    if (type_ == ElementType::kBf16) return halves_.data();
    return floats_.data();
  }
  /// What lies from number `first` on.
  DeviceBlock From(std::size_t first) const {
    DeviceBlock rest;
    rest.type_ = type_;
    if (type_ == ElementType::kBf16)
      rest.halves_ = halves_.From(first);
    else
      rest.floats_ = floats_.From(first);
    return rest;
  }
  /// Of float32.
  const DeviceArray<float>& floats() const {
    MURMURATE_CHECK(type_ == ElementType::kFloat32, "numbers of 32 bits");
    return floats_;
  }

 private:
  ElementType type_ = ElementType::kFloat32;
  DeviceArray<float> floats_;
  DeviceArray<std::uint16_t> halves_;
};

}  // namespace murmurate
