// What a stream and its clients say, there and back; malformed_test.cc breaks all of it.
#include "shared/wire/stream_messages.h"

#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/wire/decoding.h"

namespace murmurate::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename T>
T ThereAndBack(const T& body) {
  return DecodedAs<T>(ToWire(body, 99, 7));
}

TEST(StreamMessages, AHelloComesBackAsItWas) {
  const StreamHello hello = ThereAndBack(SampleStreamHello());
  EXPECT_EQ(hello.min_major, 1);
  EXPECT_EQ(hello.max_major, 1);
  EXPECT_EQ(hello.name, "plant-7");
  EXPECT_EQ(hello.stream, "temp");
  EXPECT_THAT(hello.fields, ElementsAre("temp", "hum"));
  EXPECT_EQ(hello.number, 3u);
  EXPECT_EQ(hello.sequence, 41u);
  EXPECT_EQ(ThereAndBack(StreamHello{}).stream, "");
}

TEST(StreamMessages, AnOkComesBackAsItWas) {
  const StreamOk ok = ThereAndBack(SampleStreamOk());
  EXPECT_EQ(ok.incarnation, 77u);
  EXPECT_EQ(ok.number, 3u);
  EXPECT_EQ(ok.credit, 256u);
  EXPECT_EQ(ok.stream, "temp");
  EXPECT_THAT(ok.fields, ElementsAre("temp", "hum"));
  EXPECT_THAT(ok.targets, ElementsAre(1));
  EXPECT_THAT(ok.horizons, ElementsAre(1, 6));
  EXPECT_THAT(ok.quantiles, ElementsAre(0.1, 0.9));
}

TEST(StreamMessages, EmptyListsLieWhereTheyLike) {
  // Nothing aligns a list without elements, so nobody may ask for it.
  for (std::size_t bytes = 1; bytes <= 8; ++bytes) {
    StreamOk ok = SampleStreamOk();
    ok.quantiles.clear();
    ok.stream = std::string(bytes, 's');
    EXPECT_THAT(ThereAndBack(ok).quantiles, testing::IsEmpty());
    Forecast forecast = SampleForecast();
    forecast.due_ns.clear();
    EXPECT_THAT(ThereAndBack(forecast).due_ns, testing::IsEmpty());
  }
}

TEST(StreamMessages, ASampleComesBackAsItWas) {
  const Sample sample = ThereAndBack(SampleOfAPump());
  EXPECT_EQ(sample.device, "pump-1");
  EXPECT_EQ(sample.time_ns, 1'700'000'000'500'000'000);
  EXPECT_EQ(sample.sequence, 41u);
  EXPECT_EQ(sample.id, "a7");
  EXPECT_THAT(sample.values, ElementsAre(21.5f, 40.0f));
  const Sample bare =
      ThereAndBack(Sample{"a", 0, {}, "", {std::numeric_limits<float>::quiet_NaN()}});
  EXPECT_FALSE(bare.sequence.has_value());
  EXPECT_EQ(bare.id, "");
  EXPECT_TRUE(std::isnan(bare.values.at(0)));
  EXPECT_EQ(ThereAndBack(Sample{"a", 0, 0, "", {1}}).sequence, 0u);
}

TEST(StreamMessages, AForecastComesBackAsItWas) {
  const Forecast forecast = ThereAndBack(SampleForecast());
  EXPECT_EQ(forecast.row, 5u);
  EXPECT_EQ(forecast.time_ns, 1'700'000'000'500'000'000);
  EXPECT_EQ(forecast.version, 9u);
  EXPECT_EQ(forecast.alarm, 1);
  EXPECT_THAT(forecast.due_ns, ElementsAre(1'700'000'001'500'000'000, 1'700'000'006'500'000'000));
  ASSERT_EQ(forecast.values.size(), 2u);
  const ForecastValue& first = forecast.values[0];
  EXPECT_EQ(first.forecast, 21.25f);
  EXPECT_EQ(first.model, 21.25f);
  EXPECT_EQ(first.baseline, 21.5f);
  EXPECT_EQ(first.error, 0.25f);
  EXPECT_EQ(first.baseline_error, 0.5f);
  EXPECT_EQ(first.coverage, 0.75f);
  EXPECT_EQ(first.count, 100u);
  EXPECT_TRUE(first.by_model);
  EXPECT_FALSE(forecast.values[1].by_model);
  EXPECT_EQ(forecast.values[1].count, 7u);
  EXPECT_THAT(forecast.quantiles, ElementsAre(21, 22, 19.5f, 23));
}

TEST(StreamMessages, DoublesComeBackAsTheyWere) {
  constexpr double kMeter = 123'456'792.25;  // no float32
  Sample sample = SampleOfAPump();
  sample.values = {kMeter, std::nan("")};
  sample.doubles = true;
  sample = ThereAndBack(sample);
  EXPECT_TRUE(sample.doubles);
  EXPECT_EQ(sample.values.at(0), kMeter);
  EXPECT_TRUE(std::isnan(sample.values.at(1)));
  Forecast forecast = SampleForecast();
  forecast.doubles = true;
  forecast.values[1] = {kMeter, kMeter + 1, kMeter + 2, 0.25f, 0.5f, 0.75f, 8, true};
  forecast.quantiles = {kMeter, 1e15};
  forecast = ThereAndBack(forecast);
  EXPECT_EQ(forecast.values.at(0).forecast, 21.25);
  EXPECT_EQ(forecast.values.at(1).forecast, kMeter);
  EXPECT_EQ(forecast.values.at(1).model, kMeter + 1);
  EXPECT_EQ(forecast.values.at(1).baseline, kMeter + 2);
  EXPECT_EQ(forecast.values.at(1).error, 0.25f);
  EXPECT_THAT(forecast.quantiles, ElementsAre(kMeter, 1e15));
}

TEST(StreamMessages, TheLargestForecastFits) {
  Forecast forecast;  // config_streams.cc allows no more
  forecast.doubles = true;
  forecast.values.resize(kMaxForecastValues);
  forecast.due_ns.resize(kMaxHorizons);
  EXPECT_EQ(ThereAndBack(forecast).values.size(), kMaxForecastValues);
}

TEST(StreamMessages, RefusalsAndWhatIsCommittedComeBackAsTheyWere) {
  const Refused refused = ThereAndBack(Refused{"time_runs_back", "it\nlies"});
  EXPECT_EQ(refused.word, "time_runs_back");
  EXPECT_EQ(refused.sentence, "it?lies");
  const SamplesCommitted committed =
      ThereAndBack(SamplesCommitted{{{"pump-1", 41}, {"pump-2", 7}}, true});
  ASSERT_EQ(committed.devices.size(), 2u);
  EXPECT_EQ(committed.devices[1].device, "pump-2");
  EXPECT_EQ(committed.devices[1].sequence, 7u);
  EXPECT_TRUE(committed.complete);
}

TEST(StreamMessages, ASampleOfManyFieldsIsLargerThanOtherMessagesMayBe) {
  Sample sample = SampleOfAPump();
  sample.values.assign(kMaxStreamFields, 1.5f);
  EXPECT_EQ(ThereAndBack(sample).values.size(), kMaxStreamFields);
  Forecast forecast = SampleForecast();
  forecast.values.resize(kMaxForecastValues);
  ASSERT_GT(ToWire(forecast, 1, 1).frames[1].size(), kMaxMetadataBytes);
  EXPECT_EQ(ThereAndBack(forecast).values.size(), kMaxForecastValues);
}

TEST(StreamMessages, MoreThanMayBeIsRefused) {
  Sample sample = SampleOfAPump();
  sample.values.assign(kMaxStreamFields + 1, 1.5f);
  EXPECT_EQ(FailureOf(ToWire(sample, 99, 7)).refusal, Refusal::kTooLarge);
  sample = SampleOfAPump();
  sample.device.assign(kMaxSampleName + 1, 'a');
  EXPECT_EQ(FailureOf(ToWire(sample, 99, 7)).refusal, Refusal::kTooLarge);
  sample = SampleOfAPump();
  sample.id.assign(kMaxSampleName + 1, 'a');
  EXPECT_EQ(FailureOf(ToWire(sample, 99, 7)).sequence, 7u);
  SamplesCommitted committed;
  committed.devices.resize(kMaxCommittedDevices + 1);
  EXPECT_EQ(FailureOf(ToWire(committed, 99, 7)).refusal, Refusal::kTooLarge);
}

TEST(StreamMessages, WhatMakesNoSenseIsRefused) {
  StreamHello hello = SampleStreamHello();
  hello.min_major = 2;
  EXPECT_THAT(FailureOf(ToWire(hello, 99, 0)).sentence, HasSubstr("min <= max"));
  hello = SampleStreamHello();
  hello.stream = "a b";
  EXPECT_THAT(FailureOf(ToWire(hello, 99, 0)).sentence, HasSubstr("stream name"));
  StreamOk ok = SampleStreamOk();
  ok.targets = {2};
  EXPECT_THAT(FailureOf(ToWire(ok, 99, 0)).sentence, HasSubstr("one of the fields"));
  ok = SampleStreamOk();
  ok.credit = 0;
  EXPECT_THAT(FailureOf(ToWire(ok, 99, 0)).sentence, HasSubstr("credit"));
  Forecast forecast = SampleForecast();
  forecast.alarm = 3;
  EXPECT_THAT(FailureOf(ToWire(forecast, 99, 7)).sentence, HasSubstr("alarm"));
}

TEST(StreamMessages, OneNameTenThousandTimesIsNotCopied) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString(std::string(120, 'n'));
  const auto fields = builder.CreateVector(
      std::vector<flatbuffers::Offset<flatbuffers::String>>(kMaxStreamFields, name));
  const auto client = builder.CreateString("c");
  const auto start = builder.StartTable();
  const auto field = [](int n) { return static_cast<flatbuffers::voffset_t>(4 + 2 * n); };
  builder.AddElement<std::uint8_t>(field(0), 1, 0);
  builder.AddElement<std::uint8_t>(field(1), 1, 0);
  builder.AddOffset(field(2), client);
  builder.AddOffset(field(3), client);
  builder.AddOffset(field(4), fields);
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(start)));
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  const auto failure = FailureOf(
      Under(StreamHello::kRow.type, std::vector<std::byte>(bytes, bytes + builder.GetSize())));
  EXPECT_NE(failure.refusal, Refusal::kNone);
}

TEST(PeekHeader, ReadsWhatDecodeWouldAndNothingElse) {
  const WireMessage message = ToWire(SampleOfAPump(), 99, 7);
  const auto header = PeekHeader(message.spans());
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->type, Sample::kRow.type);
  EXPECT_EQ(header->sender, 99u);
  EXPECT_EQ(header->sequence, 7u);
  WireMessage broken = message;
  broken.frames[0].pop_back();
  EXPECT_FALSE(PeekHeader(broken.spans()).has_value());
  broken = message;
  broken.frames[0][0] = std::byte{0};
  EXPECT_FALSE(PeekHeader(broken.spans()).has_value());
  EXPECT_FALSE(PeekHeader({}).has_value());
}

}  // namespace
}  // namespace murmurate::wire
