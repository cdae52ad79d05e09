// What the tests of this room publish: versions whose every number tells which version it belongs
// to.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/weights/weights.h"
#include "tests/weights/received_weights.h"

namespace murmurate {

/// 4-16-2 with statistics: 1 KiB.
inline PolicyAndValue SmallSpec() {
  PolicyAndValue spec;
  spec.spaces = {Box({4}), Discrete(2)};
  spec.trunk = {{16, Activation::kTanh}};
  spec.normalize_observation = true;
  return spec;
}

/// 64-1024-1024-2: 4.5 MB, 18 chunks, more than one window of credit.
inline PolicyAndValue LargeSpec() {
  PolicyAndValue spec = SmallSpec();
  spec.spaces.observation = Box({64});
  spec.trunk = {{1024, Activation::kTanh}, {1024, Activation::kTanh}};
  return spec;
}

inline float SampleValue(std::uint64_t version, std::size_t i) {
  return static_cast<float>(version % 4096) + static_cast<float>(i % 8) * 0.125f;
}

inline ActSettings SampleAct() {
  return {ActSettings::Mode::kEpsilon, 0.25f, 0.5f, 2.0f, ActSettings::Noise::kPink, 8, 7.0f};
}

inline Snapshot SampleSnapshot(const ModelSpec& spec, std::uint64_t version) {
  const ParameterLayout layout(spec);
  Snapshot snapshot;
  snapshot.version = version;
  snapshot.act = SampleAct();
  snapshot.parameters = AlignedFloats(layout.total);
  for (std::size_t i = 0; i < layout.total; ++i) {
    const bool critic = i >= layout.published.count && i < layout.statistics.offset;
    snapshot.parameters[i] = critic ? -1.0f : SampleValue(version, i);
  }
  return snapshot;
}

/// Every number of `weights` belongs to its stamp's version, and none is missing.
inline bool IsWhole(const ModelSpec& spec, const ReceivedWeights& weights) {
  const ParameterLayout layout(spec);
  const std::uint64_t version = weights.stamp.version;
  bool whole = weights.in_order &&
               weights.numbers.size() == layout.published.count + layout.statistics.count;
  for (std::size_t i = 0; whole && i < layout.published.count; ++i) {
    whole = weights.numbers[i] == SampleValue(version, i);
  }
  for (std::size_t i = 0; whole && i < layout.statistics.count; ++i) {
    whole = weights.numbers[layout.published.count + i] ==
            SampleValue(version, layout.statistics.offset + i);
  }
  return whole;
}

/// Repeats `step` until it is true; false after a generous deadline.
inline bool Eventually(const std::function<bool()>& step) {
  const std::int64_t deadline = MonotonicNs() + 20 * kNanosecondsPerSecond;
  while (!step()) {
    if (MonotonicNs() > deadline) return false;
  }
  return true;
}

/// A name that no other test process uses.
inline std::string UniqueName(const std::string& what) {
  static int count = 0;
  return what + "-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

inline std::string UniqueIpcAddress() {
  return "ipc://" + (std::filesystem::temp_directory_path() / UniqueName("mmr-test")).string();
}

}  // namespace murmurate
