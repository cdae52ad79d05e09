// Whatever comes under whatever topic is refused with a reason or forecast from, and costs no more
// than it weighs.
#include <gtest/gtest.h>

#include "shared/core/random.h"
#include "tests/allocations.h"
#include "tests/fuzz/any_message.h"
#include "tests/stream/payload_forms.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace murmurate {
namespace {

constexpr int kEach = 40'000;
/// Of one message: the parser of JSON, and what a device that is new takes.
constexpr std::uint64_t kMostBytes = 8192, kMostAllocations = 64;

std::string Chance(Random* random, std::uint32_t most) {
  std::string bytes(random->UniformInt(most), '\0');
  for (char& byte : bytes) byte = static_cast<char>(random->Next());
  return bytes;
}

void FlipBits(Random* random, std::string* text) {
  for (std::uint32_t i = 0; i <= random->UniformInt(4); ++i)
    if (!text->empty())
      (*text)[random->UniformInt(static_cast<std::uint32_t>(text->size()))] ^=
          static_cast<char>(1 << random->UniformInt(8));
}

/// A quarter of chance, a quarter cut, a quarter with flipped bits, 15 % changed in what means
/// something, and 10 % as it was.
std::string Damaged(Random* random, std::string text) {
  const std::uint32_t percent = random->UniformInt(100);
  if (percent < 25) return Chance(random, 200);
  if (percent < 50) {
    text.resize(random->UniformInt(static_cast<std::uint32_t>(text.size()) + 1));
  } else if (percent < 75) {
    FlipBits(random, &text);
  } else if (percent < 90) {
    Mutate(random, &text);
  }
  return text;
}

/// In memory of its own, so that a sanitizer sees a byte read behind it.
struct Exact {
  explicit Exact(const std::string& text) : bytes(text.begin(), text.end()) {}
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  std::vector<char> bytes;
};

class StrangeMessages : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(, StrangeMessages, ::testing::Range(0, 4), [](const auto& which) {
  return std::string(TextOf(Forms()[static_cast<std::size_t>(which.param)].settings.format));
});

TEST_P(StrangeMessages, AreRefusedOrForecastFromAndCostNoMoreThanTheyWeigh) {
  Form form = Forms()[static_cast<std::size_t>(GetParam())];
  form.settings.device.reset();  // the topic says who
  AnyMessage stream(form.settings);
  Random random(20261122 + static_cast<std::uint64_t>(GetParam()));
  std::uint64_t most_bytes = 0, most_allocations = 0;
  for (int i = 0; i < kEach; ++i) {
    const std::string whole = "plant/north/pump-" + std::to_string(random.UniformInt(20)) + "/data";
    const Exact topic(random.UniformInt(10) == 0 ? Damaged(&random, whole) : whole);
    const Exact payload(Damaged(&random, form.payload));
    const std::uint64_t bytes = AllocatedBytes(), allocations = Allocations();
    stream.Consume(topic.view(), payload.view());
    most_bytes = std::max(most_bytes, AllocatedBytes() - bytes);
    most_allocations = std::max(most_allocations, Allocations() - allocations);
  }
  EXPECT_EQ(stream.Sum(), static_cast<std::uint64_t>(kEach));
  EXPECT_LE(most_bytes, kMostBytes);
  EXPECT_LE(most_allocations, kMostAllocations);
  const RefusalCounts& counts = stream.counts();
  for (const Refusal refusal : {Refusal::kNone, Refusal::kMalformed, Refusal::kUnknownTopic,
                                Refusal::kTooManyDevices, Refusal::kBadDeviceName})
    EXPECT_GT(counts[refusal], 0u) << WordOf(refusal);
  EXPECT_EQ(counts[Refusal::kDuplicate] > 0, form.settings.format != PayloadFormat::kFloats)
      << "which have no numbers";
}

TEST(AnyBytes, GoThroughTheFuzzersEntry) {
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    const std::string bytes = Chance(&random, 200);
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
        0);
  }
}

}  // namespace
}  // namespace murmurate
