// A game for MixedSpec: what it shows at each step, and whether a trajectory of it holds all that
// its log-probabilities came from.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "shared/inference/action_head.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "tests/client/workbench.h"
#include "tests/experience/mixed_trajectory.h"

namespace murmurate {

/// What the mixed game shows at its k-th step; the views stay good as long as it does.
struct Scene {
  explicit Scene(int k) : place{std::sin(0.9f * static_cast<float>(k))}, kind{k % 3} {
    for (int i = 0; i < 4; ++i) camera[i] = static_cast<std::uint8_t>(37 * k + 11 * i);
    mask = {1, static_cast<std::uint8_t>(k % 2), static_cast<std::uint8_t>(k % 3 != 0), 1,
            static_cast<std::uint8_t>(k % 4 != 0)};
  }
  Observation Show() const {
    return Observation{{"camera", camera}, {"place", place}, {"kind", kind}}.Mask(mask);
  }
  std::array<float, 1> place;
  std::array<std::int32_t, 1> kind;
  std::array<std::uint8_t, 4> camera;
  std::array<std::uint8_t, 5> mask;
};

inline void PackVersion(const ModelSpec& spec, std::uint64_t seed, Policy* policy) {
  const ParameterLayout layout(spec);
  const AlignedFloats parameters = SomeParameters(spec, seed);
  const std::span<const float> flat = parameters;
  policy->Pack(flat.subspan(layout.published.offset, layout.published.count),
               flat.subspan(layout.statistics.offset, layout.statistics.count));
}

/// The log-probabilities of a trajectory by itself: rows stacked and states carried by hand.
/// `seed`: of the parameters that it began under; those of later versions are drawn from later ones.
inline void CheckPlayed(const TrajectoryView& view, std::uint64_t seed) {
  const ModelSpec spec = MixedSpec();
  Policy policy(spec);
  const ActionHead head{ActionLayout(spec.spaces.action, spec.continuous)};
  std::vector<float> state(view.state0.begin(), view.state0.end());
  std::vector<std::vector<std::byte>> past;  // newest last
  for (std::size_t i = 0; i < 2; ++i) {
    const auto row = view.frames0.subspan(i * MixedTrajectory::kRow, MixedTrajectory::kRow);
    past.emplace_back(row.begin(), row.end());
  }
  AlignedFloats scratch(policy.ScratchFloats(1)), stacked(5);
  std::vector<float> outputs(static_cast<std::size_t>(policy.outputs()));
  for (int t = 0; t < view.steps; ++t) {
    if (t == 0 || VersionAt(view, t) != VersionAt(view, t - 1))
      PackVersion(spec, seed + VersionAt(view, t) - view.version, &policy);
    if (view.flags[t] & kFirst) {
      std::ranges::fill(state, 0.0f);
      for (auto& row : past) row.assign(MixedTrajectory::kRow, std::byte{0});
    }
    const auto row = view.observation.subspan(t * MixedTrajectory::kRow, MixedTrajectory::kRow);
    past.emplace_back(row.begin(), row.end());
    std::byte* bytes = reinterpret_cast<std::byte*>(stacked.data());
    std::memcpy(bytes, row.data(), 8);  // place and kind
    for (int pixel = 0; pixel < 4; ++pixel) {
      for (int frame = 0; frame < 3; ++frame) {
        bytes[8 + 3 * pixel + frame] = past[past.size() - 3 + frame][8 + pixel];
      }
    }
    policy.Forward(bytes, 1, outputs.data(), scratch.data(), state.data());
    const std::uint8_t* mask =
        view.mask.empty() ? nullptr : view.mask.data() + t * MixedTrajectory::kMask;
    const float expected = head.LogProbability({outputs.data(), policy.log_deviations(), mask}, {},
                                               view.action.data() + t * MixedTrajectory::kWords);
    EXPECT_NEAR(view.log_prob[t], expected, 2e-5) << t;
  }
}

}  // namespace murmurate
