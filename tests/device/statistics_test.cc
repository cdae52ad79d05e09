// Observation statistics on a device against UpdateObservationStatistics.
#include <gtest/gtest.h>

#include <limits>

#include "server/device/device_observation_statistics.h"
#include "server/network/actor_critic.h"
#include "shared/core/random.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/device_blocks.h"

namespace murmurate {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

ModelSpec PlainSpec(int numbers) {
  return PolicyAndValue{.spaces = {Box({numbers}), Discrete(2)},
                        .trunk = {{4, Activation::kTanh}},
                        .normalize_observation = true};
}

/// Numbers behind and between inputs that are none.
ModelSpec MixedSpec() {
  return PolicyAndValue{.spaces = {Dict({{"kind", Discrete(3)},
                                         {"place", Box({2})},
                                         {"picture", Image({3, 3, 1})},
                                         {"speed", Box({1})}}),
                                   Discrete(2)},
                        .trunk = {{4, Activation::kTanh}},
                        .normalize_observation = true};
}

/// A batch with trajectories in some of its slots.
struct ObservedBatch {
  /// The means of neighbouring numbers differ by `apart`.
  ObservedBatch(const ModelSpec& spec, int length_of_all, std::vector<std::int32_t> with,
                int all_slots, double apart = 0.5)
      : length(length_of_all), slots(std::move(with)) {
    Random random(3);
    const std::size_t words = ObservationLayout(spec.row_space()).row_bytes() / sizeof(float);
    for (int row = 0; row < all_slots * length; ++row) {
      const bool counts = row % length < length - 2 && row % 5 != 1;
      weight.push_back(counts ? 1.0f : 0.0f);
      for (std::size_t word = 0; word < words; ++word)
        observation.push_back(counts ? static_cast<float>(apart * word + 0.5 * random.Normal())
                                     : kNan);
    }
    observation[words - 1] = 1e30f;  // "nothing there"
  }

  const int length;
  const std::vector<std::int32_t> slots;
  std::vector<float> observation, weight;
};

std::vector<float> FirstParameters(const ModelSpec& spec, float count = 0.0f) {
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total);
  InitializeParameters(spec, 1, parameters);
  parameters[layout.Find("statistics.observation.count").offset] = count;
  return parameters;
}

std::vector<float> UpdateOnHost(const ModelSpec& spec, const ObservedBatch& batch, int times,
                                float count = 0.0f) {
  std::vector<float> parameters = FirstParameters(spec, count);
  const std::size_t row = ObservationLayout(spec.row_space()).row_bytes() / sizeof(float);
  const auto length = static_cast<std::size_t>(batch.length);
  for (int i = 0; i < times; ++i) {
    for (const std::int32_t slot : batch.slots)
      UpdateObservationStatistics(spec, batch.observation.data() + slot * length * row,
                                  std::span(batch.weight).subspan(slot * length, length),
                                  parameters);
  }
  return parameters;
}

std::vector<float> UpdateOnDevice(const ModelSpec& spec, const ObservedBatch& batch, int times,
                                  std::uint64_t seed = 0, float count = 0.0f) {
  AlgorithmSettings settings;
  settings.trajectory_length = batch.length;
  settings.batch_steps = static_cast<int>(batch.weight.size());
  DeviceBlocks blocks(seed);
  const DeviceObservationStatistics statistics(spec, settings, blocks.memory());
  blocks.Allocate();
  EXPECT_TRUE(statistics.counts());
  statistics.Upload(blocks.device(), Stream::kMain);
  const DevicePlanCounts counts{static_cast<std::uint32_t>(batch.slots.size()), 0};
  const DevicePlan plan{.counts = blocks.Put(std::vector{counts}),
                        .slots = blocks.Put(batch.slots),
                        .steps = nullptr,
                        .rows = nullptr,
                        .most_slots = 0,
                        .most_rows = 0};
  const std::vector<float> first = FirstParameters(spec, count);
  float* const parameters = blocks.Put(first);
  const float* const observation = blocks.Put(batch.observation);
  const float* const weight = blocks.Put(batch.weight);
  for (int i = 0; i < times; ++i)
    statistics.EnqueueUpdate(blocks.device(), Stream::kMain, plan, observation, weight,
                             parameters + ParameterLayout(spec).statistics.offset);
  return blocks.Read(parameters, first.size());
}

void ExpectTheSame(const ModelSpec& spec, const ObservedBatch& batch, int times = 2) {
  const std::vector<float> want = UpdateOnHost(spec, batch, times);
  const std::vector<float> got = UpdateOnDevice(spec, batch, times);
  const ParameterLayout layout(spec);
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (i < layout.statistics.offset)
      ASSERT_EQ(got[i], want[i]) << i;
    else
      ASSERT_NEAR(got[i], want[i], 1e-5 * std::max(1e-2f, std::abs(want[i]))) << i;
  }
  EXPECT_TRUE(SameBits(got, UpdateOnDevice(spec, batch, times, 7)));
}

TEST(DeviceObservationStatistics, AsOnTheProcessor) {
  for (const int numbers : {1, 31, 32, 33, 70}) {
    SCOPED_TRACE(numbers);
    ExpectTheSame(PlainSpec(numbers), ObservedBatch(PlainSpec(numbers), 8, {2, 0}, 4));
  }
  ExpectTheSame(PlainSpec(3), ObservedBatch(PlainSpec(3), 64, {0, 1, 2, 3, 5}, 6));
  ExpectTheSame(MixedSpec(), ObservedBatch(MixedSpec(), 16, {1, 0, 3}, 4));
}

TEST(DeviceObservationStatistics, LargeMeansLeaveTheVarianceAsItIs) {
  ExpectTheSame(PlainSpec(40), ObservedBatch(PlainSpec(40), 64, {1}, 2, 1e4), 1);
}

TEST(DeviceObservationStatistics, TheCountEndsWhereAFloatCountsNoFurther) {
  const ModelSpec spec = PlainSpec(3);
  const ObservedBatch batch(spec, 64, {1}, 2);
  constexpr float kNearly = 0x1p24f - 2.0f;
  const std::size_t at = ParameterLayout(spec).Find("statistics.observation.count").offset;
  EXPECT_EQ(UpdateOnDevice(spec, batch, 1, 0, kNearly)[at], 0x1p24f);
  EXPECT_EQ(UpdateOnHost(spec, batch, 1, kNearly)[at], 0x1p24f);
}

TEST(DeviceObservationStatistics, NoRowsChangeNothing) {
  const ModelSpec spec = PlainSpec(3);
  EXPECT_EQ(UpdateOnDevice(spec, ObservedBatch(spec, 8, {}, 1), 1), FirstParameters(spec));
  EXPECT_EQ(UpdateOnDevice(spec, ObservedBatch(spec, 2, {0}, 1), 1), FirstParameters(spec));
}

}  // namespace
}  // namespace murmurate
