// What lines, radios and strangers do to payloads: they are cut, changed and made up.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "server/stream/names.h"
#include "server/stream/payload.h"
#include "shared/core/random.h"
#include "tests/allocations.h"
#include "tests/stream/payload_forms.h"

namespace murmurate {
namespace {

TEST(PayloadDamage, EveryTruncationIsRefused) {
  for (const Form& form : Forms()) {
    // A line of CSV has an end of its own; until its last column begins, it is not whole.
    const std::size_t last = form.settings.format == PayloadFormat::kCsv
                                 ? form.payload.rfind(',') + 1
                                 : form.payload.size();
    PayloadReader reader = Reader(form.settings);
    Sample sample;
    ASSERT_EQ(reader.Read(form.payload, &sample), Refusal::kNone) << TextOf(form.settings.format);
    ExpectValues(sample.values, kValues, form.payload);
    for (std::size_t size = 0; size < last; ++size) {
      // In memory of its own, so that a sanitizer sees a byte read behind it.
      const std::vector<char> cut(form.payload.begin(),
                                  form.payload.begin() + static_cast<std::ptrdiff_t>(size));
      const Refusal refusal = reader.Read({cut.data(), size}, &sample);
      EXPECT_TRUE(refusal == Refusal::kMalformed || refusal == Refusal::kBadTime)
          << TextOf(form.settings.format) << " cut at " << size << ": " << WordOf(refusal);
    }
  }
}

/// What a Sample promises to whoever uses it.
void ExpectUsable(const Sample& sample, std::string_view payload) {
  int usable = 0;
  ASSERT_EQ(sample.values.size(), 3U);
  for (const double value : sample.values) usable += std::isfinite(value);
  EXPECT_GT(usable, 0) << payload;
  EXPECT_FALSE(sample.values[0] < -40 || sample.values[0] > 60) << payload;
  EXPECT_FALSE(sample.values[1] < 0) << payload;
  EXPECT_FALSE(std::isinf(sample.values[2])) << payload;
  EXPECT_GE(sample.time_ns, 0) << payload;
  EXPECT_LE(sample.time_ns, kMaxTimeNs) << payload;
  EXPECT_LE(sample.id.size(), kMaxNameBytes) << payload;
  const Refusal device = CheckDeviceName(sample.device);
  EXPECT_TRUE(device == Refusal::kNone || device == Refusal::kEmptyDevice) << payload;
}

TEST(PayloadDamage, AHundredThousandMutationsOfEachFormatAreRefusedOrUsable) {
  for (const Form& form : Forms()) {
    PayloadReader reader = Reader(form.settings);
    RefusalCounts counts;
    Random random(20260501);
    Sample sample;
    for (int i = 0; i < 100'000; ++i) {
      std::string payload = form.payload;
      Mutate(&random, &payload);
      const Refusal refusal = reader.Read(payload, &sample);
      counts.Add(refusal);
      if (refusal == Refusal::kNone) ExpectUsable(sample, payload);
    }
    EXPECT_GT(counts[Refusal::kNone], 0U) << TextOf(form.settings.format);
    EXPECT_GT(counts[Refusal::kMalformed], 0U) << TextOf(form.settings.format);
  }
}

TEST(PayloadDamage, BytesOfChanceAreRefusedOrUsable) {
  for (const Form& form : Forms()) {
    PayloadReader reader = Reader(form.settings);
    Random random(7);
    Sample sample;
    for (int i = 0; i < 20'000; ++i) {
      std::string payload(random.UniformInt(100), '\0');
      for (char& byte : payload) byte = static_cast<char>(random.Next());
      if (reader.Read(payload, &sample) == Refusal::kNone) ExpectUsable(sample, payload);
    }
  }
}

TEST(PayloadDamage, TheSampleOfAGoodPayloadDoesNotDependOnWhatCameBefore) {
  for (const Form& form : Forms()) {
    PayloadReader reader = Reader(form.settings);
    Sample first, sample;
    ASSERT_EQ(reader.Read(form.payload, &first), Refusal::kNone);
    Random random(3);
    for (int i = 0; i < 2'000; ++i) {
      std::string payload = form.payload;
      Mutate(&random, &payload);
      static_cast<void>(reader.Read(payload, &sample));
      ASSERT_EQ(reader.Read(form.payload, &sample), Refusal::kNone);
      ASSERT_EQ(sample.values, first.values) << payload;
      ASSERT_EQ(sample.time_ns, first.time_ns) << payload;
      ASSERT_EQ(sample.sequence, first.sequence) << payload;
      ASSERT_EQ(sample.id, first.id) << payload;
      ASSERT_EQ(sample.device, first.device) << payload;
    }
  }
}

/// nlohmann's parser makes itself anew for each payload.
constexpr std::uint64_t kParserAllocations = 8;

TEST(PayloadDamage, AWarmReaderAllocatesNothingButJsonsParser) {
  for (const Form& form : Forms()) {
    PayloadReader reader = Reader(form.settings);
    Sample sample;
    ASSERT_EQ(reader.Read(form.payload, &sample), Refusal::kNone);
    const std::uint64_t before = Allocations();
    ASSERT_EQ(reader.Read(form.payload, &sample), Refusal::kNone);
    const std::uint64_t allocations = Allocations() - before;
    EXPECT_LE(allocations, form.settings.format == PayloadFormat::kJson ? kParserAllocations : 0)
        << TextOf(form.settings.format);
  }
}

}  // namespace
}  // namespace murmurate
