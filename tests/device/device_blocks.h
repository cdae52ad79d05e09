// A device with blocks of numbers for the tests of what runs on a device.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/device_memory.h"
#include "tests/device/test_device.h"

namespace murmurate {

class DeviceBlocks {
 public:
  /// `seed`: of a host device.
  explicit DeviceBlocks(std::uint64_t seed) : device_({.seed = seed}) {}
  ~DeviceBlocks() {
    for (void* block : blocks_) device_.Free(block);
  }
  DeviceBlocks(const DeviceBlocks&) = delete;
  DeviceBlocks& operator=(const DeviceBlocks&) = delete;

  TestDevice* device() { return &device_; }
  DeviceMemory* memory() { return &memory_; }
  /// After everything is planned.
  void Allocate() { ASSERT_TRUE(memory_.Allocate(&device_).ok()); }

  /// Room for numbers that are none yet; null for none.
  template <typename T>
  T* Room(std::size_t count) {
    if (count == 0) return nullptr;
    blocks_.push_back(device_.Allocate(count * sizeof(T)));
    return static_cast<T*>(blocks_.back());
  }
  template <typename T>
  T* Put(const std::vector<T>& values) {
    T* const to = Room<T>(values.size());
    if (to != nullptr) device_.CopyIn(Stream::kMain, to, values.data(), values.size() * sizeof(T));
    device_.Finish();
    return to;
  }
  TrainingControl* Put(const TrainingControl& control) { return Put(std::vector{control}); }
  template <typename T>
  std::vector<std::remove_const_t<T>> Read(T* from, std::size_t count) {
    std::vector<std::remove_const_t<T>> values(count);
    if (count > 0) device_.CopyOut(Stream::kMain, values.data(), from, count * sizeof(T));
    device_.Finish();
    return values;
  }
  TrainingControl Read(const TrainingControl* control) { return Read(control, 1)[0]; }

 private:
  TestDevice device_;
  DeviceMemory memory_;
  std::vector<void*> blocks_;
};

/// Within 1e-5 of the largest number of the block.
inline void ExpectNear(std::span<const float> got, std::span<const float> want, const char* what,
                       float tolerance = 1e-5f) {
  ASSERT_EQ(got.size(), want.size()) << what;
  float largest = 0.0f;
  for (const float x : want) largest = std::max(largest, std::abs(x));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], tolerance * largest) << what << " " << i;
}

inline void ExpectNear(double got, double want, const char* what, double tolerance = 1e-5) {
  EXPECT_NEAR(got, want, tolerance * std::max(1.0, std::abs(want))) << what;
}

/// The same bits, not a number among them.
inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

}  // namespace murmurate
