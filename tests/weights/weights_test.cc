#include "shared/weights/weights.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/weights/payload_reader.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

std::vector<std::byte> Written(const ModelSpec& spec, const Snapshot& snapshot) {
  const ParameterLayout layout(spec);
  std::vector<std::byte> payload(PayloadBytes(layout));
  WritePayload(layout, snapshot, payload);
  return payload;
}

/// As it arrives in chunks of that size; what the preamble says.
Result<ActSettings> Read(const ModelSpec& spec, std::span<const std::byte> payload,
                         std::size_t chunk_bytes, ReceivedWeights* received) {
  WeightsPayloadReader reader{ParameterLayout(spec)};
  reader.Begin(received);
  for (std::size_t at = 0; at < payload.size(); at += chunk_bytes) {
    const std::byte* from = payload.data() + at;
    reader.Consume(std::min(chunk_bytes, payload.size() - at), received,
                   [&](std::byte* to, std::size_t bytes) {
                     std::memcpy(to, from, bytes);
                     from += bytes;
                   });
  }
  return reader.act();
}

Result<ActSettings> ReadWhole(const ModelSpec& spec, std::span<const std::byte> payload) {
  ReceivedWeights received;
  return Read(spec, payload, payload.size(), &received);
}

void SetWord(std::vector<std::byte>& payload, std::size_t word, float value) {
  std::memcpy(payload.data() + word * sizeof(float), &value, sizeof value);
}

TEST(Payload, IsThePreambleThenPolicyThenStatisticsWithoutTheCritic) {
  const PolicyAndValue spec = SmallSpec();
  const ParameterLayout layout(spec);
  // policy 4*16+16+16*2(32)+2(16) = 128, statistics 16 + 16 + 16 = 48, preamble 16 floats
  EXPECT_EQ(PayloadBytes(layout), 4u * (16 + 128 + 48));
  const std::vector<std::byte> payload = Written(spec, SampleSnapshot(spec, 3));
  for (const std::size_t chunk_bytes : {payload.size(), std::size_t{40}, std::size_t{8}}) {
    ReceivedWeights received;
    const Result<ActSettings> act = Read(spec, payload, chunk_bytes, &received);
    ASSERT_TRUE(act.ok()) << act.status();
    EXPECT_EQ(*act, SampleAct());
    ASSERT_TRUE(received.End({5, 3}, *act));
    EXPECT_TRUE(IsWhole(spec, received));
  }
}

/// What is read of it must never change; later fields take the place of zeros.
TEST(Payload, ThePreamblesWordsAreWhereTheyWere) {
  const PolicyAndValue spec = SmallSpec();
  const std::vector<std::byte> payload = Written(spec, SampleSnapshot(spec, 3));
  const std::uint32_t expected[16] = {
      0x57524d4d, 0x31474945, 128,        0,          48,         0,
      2,          0,          0x3e800000, 0x3f000000, 0x40000000,  // to 44
      1,          8,          0x40e00000,                          // to 56
  };
  for (std::size_t word = 0; word < 16; ++word) {
    std::uint32_t got;
    std::memcpy(&got, payload.data() + word * sizeof got, sizeof got);
    EXPECT_EQ(got, expected[word]) << word;
  }
}

TEST(Payload, OfALearnerThatKnewNoNoiseAndNoLadderHasNeither) {
  const PolicyAndValue spec = SmallSpec();
  std::vector<std::byte> payload = Written(spec, SampleSnapshot(spec, 3));
  for (const std::size_t word : {11, 12, 13, 14, 15}) SetWord(payload, word, 0.0f);
  const Result<ActSettings> act = ReadWhole(spec, payload);
  ASSERT_TRUE(act.ok()) << act.status();
  EXPECT_EQ(*act, (ActSettings{ActSettings::Mode::kEpsilon, 0.25f, 0.5f, 2.0f}));
}

TEST(Payload, OfAnotherModelIsRefused) {
  const PolicyAndValue spec = SmallSpec();
  PolicyAndValue other = spec;
  other.trunk[0].units = 32;
  EXPECT_FALSE(ReadWhole(other, Written(spec, SampleSnapshot(spec, 3))).ok());
}

TEST(Payload, DamagedPreambleIsRefused) {
  const PolicyAndValue spec = SmallSpec();
  for (const std::size_t word : {0, 2, 4}) {  // magic, policy count, statistics count
    std::vector<std::byte> payload = Written(spec, SampleSnapshot(spec, 3));
    SetWord(payload, word, 1.0f);
    EXPECT_FALSE(ReadWhole(spec, payload).ok()) << word;
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t word :
       {6, 8, 9, 10, 11, 13}) {  // mode, epsilon, sigma, temperature, noise, alpha
    for (const float bad : {nan, -1.0f}) {
      std::vector<std::byte> payload = Written(spec, SampleSnapshot(spec, 3));
      SetWord(payload, word, bad);
      EXPECT_FALSE(ReadWhole(spec, payload).ok()) << word << " " << bad;
    }
  }
}

}  // namespace
}  // namespace murmurate
