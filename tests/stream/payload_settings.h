// Readers and payloads that the tests of payloads share.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sample_generated.h"
#include "server/stream/payload.h"

namespace murmurate {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// temp from -40 to 60, hum from 0 on, vib.
inline PayloadSettings ThreeFields(PayloadFormat format) {
  PayloadSettings settings;
  settings.format = format;
  settings.fields = {{.name = "temp", .min = -40, .max = 60}, {.name = "hum", .min = 0}, {"vib"}};
  return settings;
}

inline PayloadReader Reader(PayloadSettings settings) {
  Result<PayloadReader> reader = PayloadReader::Make(std::move(settings));
  EXPECT_TRUE(reader.ok()) << reader.status();
  return *std::move(reader);
}

inline std::string Floats(const std::vector<float>& values) {
  std::string bytes(values.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// `values` lie last, so that no prefix is whole; doubles as the table's `numbers`.
template <typename Number>
std::string Table(const std::vector<Number>* values, std::int64_t time_ns = 0,
                  std::optional<std::uint64_t> sequence = {}, const char* device = nullptr,
                  const char* id = nullptr) {
  flatbuffers::FlatBufferBuilder builder;
  const auto list = values == nullptr ? 0 : builder.CreateVector(*values);
  const auto device_text = device == nullptr ? 0 : builder.CreateString(device);
  const auto id_text = id == nullptr ? 0 : builder.CreateString(id);
  stream::fb::SampleBuilder sample(builder);
  if constexpr (std::is_same_v<Number, double>)
    sample.add_numbers(list);
  else
    sample.add_values(list);
  sample.add_time_ns(time_ns);
  if (sequence) sample.add_sequence(*sequence);
  sample.add_device(device_text);
  sample.add_id(id_text);
  stream::fb::FinishSampleBuffer(builder, sample.Finish());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

inline void ExpectValues(const std::vector<double>& values, const std::vector<double>& expected,
                         std::string_view payload) {
  ASSERT_EQ(values.size(), expected.size()) << payload;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(values[i])) << payload << " field " << i << ": " << values[i];
    } else {
      EXPECT_EQ(values[i], expected[i]) << payload << " field " << i;
    }
  }
}

/// What a payload should give; `values` only of one that is taken.
struct PayloadCase {
  std::string payload;
  Refusal refusal;
  std::vector<double> values = {};
};

inline void ExpectCases(PayloadReader* reader, const std::vector<PayloadCase>& cases) {
  Sample sample;
  for (const PayloadCase& expected : cases) {
    const Refusal refusal = reader->Read(expected.payload, &sample);
    EXPECT_STREQ(WordOf(refusal), WordOf(expected.refusal)) << expected.payload;
    if (refusal == Refusal::kNone) ExpectValues(sample.values, expected.values, expected.payload);
  }
}

}  // namespace murmurate
