// A small trajectory of a model that has everything: bytes, numbers and categories in its rows,
// frames stacked, a state, choices with masks and a number to steer with. T = 4.
#pragma once

#include <bit>
#include <cstring>
#include <vector>

#include "shared/core/check.h"
#include "shared/trajectory/trajectory.h"
#include "tests/experience/own_trajectory.h"

namespace murmurate {

/// A row: place 4 bytes, kind 4, camera 4. An action: two choices and a number. Three frames of the
/// camera.
inline ModelSpec MixedSpec() {
  auto spec = ModelSpec::Parse(
      "murmurate-model 1\n"
      "observation.camera uint8 2 2 1\n"
      "observation.place float32 1\n"
      "observation.kind categories 3\n"
      "action.weapon discrete 3 2\n"
      "action.turn continuous 1 low -1 high 1\n"
      "input camera stack 3\n"
      "flatten\n"
      "trunk\n"
      "gru 5\n"
      "separate_value 0\n"
      "normalize_observation 0\n"
      "state_dependent_deviation 0\n"
      "squashed 0\n");
  MURMURATE_CHECK(spec.ok(), spec.status().message().c_str());
  return *spec;
}
inline TrajectoryLayout MixedLayout() { return TrajectoryLayout(MixedSpec(), 4); }

struct MixedTrajectory : OwnTrajectory {
  static constexpr std::size_t kRow = 12, kWords = 3, kMask = 5, kState = 5, kFrames = 2;

  /// Step i sees the place base + i, the kind i mod 3 and pixels of 10 (base + i); frames0 hold
  /// base - 2 and base - 1.
  MixedTrajectory(int steps, int base) {
    for (int i = 0; i < steps; ++i) {
      AppendRow(base + i, i % 3, &observation);
      action.insert(action.end(), {i % 3, i % 2, std::bit_cast<std::int32_t>(0.25f * i)});
      log_prob.push_back(0.5f);  // a density
      reward.push_back(static_cast<float>(base));
      flags.push_back(0);
    }
    AppendRow(base + steps, 0, &next_observation);
    AppendRow(base - 2, 0, &frames0);
    AppendRow(base - 1, 0, &frames0);
    for (std::size_t i = 0; i < kState; ++i) state0.push_back(static_cast<float>(base));
  }

  static void AppendRow(int number, std::int32_t kind, std::vector<std::byte>* rows) {
    const auto append = [rows](const auto& value) {
      const auto* bytes = reinterpret_cast<const std::byte*>(&value);
      rows->insert(rows->end(), bytes, bytes + sizeof(value));
    };
    append(static_cast<float>(number));
    append(kind);
    append(static_cast<std::uint32_t>(0x01010101u * static_cast<std::uint8_t>(10 * number)));
  }

  void AllowEverything() { mask.assign(flags.size() * kMask, 1); }
};

/// The place that a row holds.
inline float PositionIn(const std::byte* row) {
  float place;
  std::memcpy(&place, row, sizeof(place));
  return place;
}

}  // namespace murmurate
