#include "shared/weights/weights.h"

#include <cstring>
#include <limits>

#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

ReceivedWeights Written(const ModelSpec& spec, const Snapshot& snapshot) {
  const ParameterLayout layout(spec);
  ReceivedWeights received;
  received.stamp.version = snapshot.version;
  received.payload = AlignedFloats(PayloadBytes(layout) / sizeof(float));
  WritePayload(layout, snapshot, std::as_writable_bytes(std::span<float>(received.payload)));
  return received;
}

TEST(Payload, IsThePreambleThenPolicyThenStatisticsWithoutTheCritic) {
  const ModelSpec spec = SmallSpec();
  const ParameterLayout layout(spec);
  // policy 4*16+16+16*2(32)+2(16) = 128, statistics 16 + 16 + 16 = 48, preamble 16 floats
  EXPECT_EQ(PayloadBytes(layout), 4u * (16 + 128 + 48));
  ReceivedWeights received = Written(spec, SampleSnapshot(spec, 3));
  ASSERT_TRUE(ReadPayload(layout, &received).ok());
  EXPECT_EQ(received.policy.data(), received.payload.data() + 16);
  EXPECT_EQ(received.statistics.data(), received.payload.data() + 16 + 128);
  EXPECT_TRUE(IsWhole(spec, received));
  EXPECT_EQ(received.act, (ActSettings{ActSettings::Mode::kEpsilon, 0.25f, 0.5f, 2.0f}));
}

TEST(Payload, OfAnotherModelIsRefused) {
  const ModelSpec spec = SmallSpec();
  ModelSpec other = spec;
  other.trunk[0].units = 32;
  ReceivedWeights received = Written(spec, SampleSnapshot(spec, 3));
  EXPECT_FALSE(ReadPayload(ParameterLayout(other), &received).ok());
}

TEST(Payload, DamagedPreambleIsRefused) {
  const ModelSpec spec = SmallSpec();
  const ParameterLayout layout(spec);
  for (const std::size_t word : {0, 2, 4}) {  // magic, policy count, statistics count
    ReceivedWeights received = Written(spec, SampleSnapshot(spec, 3));
    received.payload[word] = 1.0f;
    EXPECT_FALSE(ReadPayload(layout, &received).ok()) << word;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t word : {6, 8, 9, 10}) {  // mode, epsilon, sigma, temperature
    for (const float bad : {nan, -1.0f}) {
      ReceivedWeights received = Written(spec, SampleSnapshot(spec, 3));
      received.payload[word] = bad;
      EXPECT_FALSE(ReadPayload(layout, &received).ok()) << word << " " << bad;
    }
  }
}

}  // namespace
}  // namespace murmurate
