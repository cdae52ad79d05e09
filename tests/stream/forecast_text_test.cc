#include "server/stream/forecast_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "shared/core/random.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Row {
  double forecast, model, baseline;
  bool by_model;
  std::vector<double> quantiles = {};
};

std::string Forecast(std::string_view device, const std::vector<Row>& rows,
                     TimeForm form = TimeForm::kSeconds, std::string_view name = "temp",
                     std::string_view unit = "C", const std::vector<double>& levels = {}) {
  std::vector<std::int64_t> for_ns;
  std::vector<HorizonForecast> horizons;
  for (const Row& row : rows) {
    for_ns.push_back(1700000001500000000 + static_cast<std::int64_t>(for_ns.size()) * 1000000000);
    horizons.push_back({row.forecast, row.model, row.baseline, row.by_model, row.quantiles});
  }
  const TargetForecast target{name, unit, horizons};
  std::string text = "what was there before";
  WriteForecast({device, 1700000000500000000, for_ns, {&target, 1}, levels, 0.125f, 7}, form,
                &text);
  return text;
}

TEST(ForecastText, AForecastOfOneHorizonHasNumbers) {
  EXPECT_EQ(Forecast("pump", {{21.4, 21.4, 21.5, true}}),
            R"({"device":"pump","time":1700000000.5,"for":1700000001.5,)"
            R"("temp":{"forecast":21.4,"model":21.4,"baseline":21.5,"by":"model",)"
            R"("unit":"C"},"skill":0.125,"version":7})");
}

TEST(ForecastText, AForecastOfSeveralHorizonsHasLists) {
  EXPECT_EQ(Forecast("pump", {{1, 1, 2, true, {0, 3}}, {4, 5, 4, false, {3, 5}}},
                     TimeForm::kMilliseconds, "temp", "", {0.05, 0.95}),
            R"({"device":"pump","time":1700000000500,"for":[1700000001500,1700000002500],)"
            R"("temp":{"forecast":[1,4],"model":[1,5],"baseline":[2,4],"by":["model","baseline"],)"
            R"("low":[0,3],"high":[3,5],"quantiles":[{"0.05":0,"0.95":3},{"0.05":3,"0.95":5}]},)"
            R"("skill":0.125,"version":7})");
}

TEST(ForecastText, EveryQuantileIsThereByItsLevel) {
  const std::string three = Forecast("pump", {{2, 2, 2, true, {1, 2, 4}}}, TimeForm::kSeconds,
                                     "temp", "", {0.1, 0.5, 0.975});
  EXPECT_THAT(three,
              ::testing::HasSubstr(R"("low":1,"high":4,"quantiles":{"0.1":1,"0.5":2,"0.975":4}})"));
  const std::string one =
      Forecast("pump", {{2, 2, 2, true, {4}}}, TimeForm::kSeconds, "temp", "", {0.9});
  EXPECT_THAT(one, ::testing::HasSubstr(R"("by":"model","quantiles":{"0.9":4}})"));
}

TEST(ForecastText, WhatIsNotFiniteIsNull) {
  const Json json = Json::parse(Forecast("", {{kNan, kInfinity, -kInfinity, false, {kNan, kNan}}},
                                         TimeForm::kSeconds, "temp", "", {0.1, 0.9}));
  for (const char* key : {"forecast", "model", "baseline", "low", "high"}) {
    EXPECT_TRUE(json["temp"][key].is_null()) << key;
  }
  EXPECT_TRUE(json["temp"]["quantiles"]["0.9"].is_null());
  EXPECT_EQ(json["device"], "");
}

TEST(ForecastText, SaysWhichSampleItIsOf) {
  const HorizonForecast row{123456792, 1, 2, true, {}};
  const TargetForecast target{"meter", "", {&row, 1}};
  const std::int64_t for_ns = 1700000001500000000;
  std::string text;
  WriteForecast({"pump", 1700000000500000000, {&for_ns, 1}, {&target, 1}, {}, 0, 7, "part-7", 41},
                TimeForm::kSeconds, &text);
  EXPECT_EQ(text, R"({"device":"pump","time":1700000000.5,"id":"part-7","seq":41,)"
                  R"("for":1700000001.5,"meter":{"forecast":123456792,"model":1,"baseline":2,)"
                  R"("by":"model"},"skill":0,"version":7})");
}

TEST(ForecastText, IsoTimesAreText) {
  const Json json = Json::parse(Forecast("a", {{1, 1, 1, true}}, TimeForm::kIso8601));
  EXPECT_EQ(json["time"], "2023-11-14T22:13:20.5Z");
  EXPECT_EQ(json["for"], "2023-11-14T22:13:21.5Z");
}

TEST(ForecastText, AnyNameComesBackThroughAParser) {
  const std::string names[] = {"\"",           "\\",
                               "a\"},{\"b",    "line\nbreak\ttab\r\b\f",
                               "\x01\x1F\x7F", "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x8C\xA1",
                               "</script>",    std::string("\0", 1)};
  for (const std::string& name : names) {
    const Json json = Json::parse(
        Forecast(name, {{1, 1, 1, true}}, TimeForm::kSeconds, name + "x", name), nullptr, false);
    ASSERT_FALSE(json.is_discarded()) << name;
    EXPECT_EQ(json["device"], name);
    EXPECT_EQ(json[name + "x"]["unit"], name);
  }
}

TEST(ForecastText, BytesThatAreNoUtf8BecomeTheReplacementCharacter) {
  const std::pair<const char*, const char*> kCases[] = {
      {"a\xFFz", "a\xEF\xBF\xBDz"},
      {"\xC3", "\xEF\xBF\xBD"},
      {"\xC3(", "\xEF\xBF\xBD("},
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"\xF4\x90\x80\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},
  };
  for (const auto& [name, written] : kCases) {
    EXPECT_EQ(Json::parse(Forecast(name, {{1, 1, 1, true}}))["device"], written);
  }
}

TEST(ForecastText, EveryDoubleComesBackAsTheSameDouble) {
  Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random.Next());
    const Json json = Json::parse(Forecast("a", {{value, 0, 0, true}}));
    const Json& written = json["temp"]["forecast"];
    if (std::isfinite(value)) {
      ASSERT_EQ(written.get<double>(), value);
    } else {
      ASSERT_TRUE(written.is_null());
    }
  }
}

TEST(ForecastText, ErrorsAreWrittenPerTargetAndHorizon) {
  const HorizonError temp[] = {{0.1f, 0.2f, 0.5f, 100, 0.9f}};
  const HorizonError hum[] = {{1, 2, 0.5f, 3, 1}, {kNan, kNan, kNan, 0, kNan}};
  const TargetErrors targets[] = {{"temp", "C", temp}, {"hum", "", hum}};
  std::string text;
  WriteErrors({"pump", 1700000001500000000, targets, 7}, TimeForm::kSeconds, &text);
  EXPECT_EQ(text,
            R"({"device":"pump","time":1700000001.5,)"
            R"("temp":{"error":0.1,"baseline_error":0.2,"skill":0.5,"count":100,"coverage":0.9,)"
            R"("unit":"C"},"hum":{"error":[1,null],"baseline_error":[2,null],"skill":[0.5,null],)"
            R"("count":[3,0],"coverage":[1,null]},"version":7})");
}

TEST(ForecastText, AnAlarmSaysWhatRaisesItAndHowThingsAre) {
  const TargetAlarm targets[] = {{"temp", "C", 29.8, 30.2}, {"hum", "", kNan, 1}};
  std::string text;
  WriteAlarm({"pump", 1700000001500000000, true, "temp.forecast > 30", targets}, TimeForm::kSeconds,
             &text);
  EXPECT_EQ(text,
            R"({"device":"pump","time":1700000001.5,"alarm":true,"when":"temp.forecast > 30",)"
            R"("temp":{"value":29.8,"forecast":30.2,"unit":"C"},)"
            R"("hum":{"value":null,"forecast":1}})");
  WriteAlarm({"pump", 0, false, "x", {}}, TimeForm::kSeconds, &text);
  EXPECT_EQ(text, R"({"device":"pump","time":0,"alarm":false,"when":"x"})");
}

TEST(ForecastText, AStatusNamesTheRefusalsThatWereMet) {
  RefusalCounts counts;
  std::string text;
  WriteStatus({"waiting", "", 1700000000000000000, 0, counts, {}, {}}, TimeForm::kSeconds, &text);
  EXPECT_EQ(text, R"({"state":"waiting","since":1700000000,"taken":0,"devices":0,"refused":{}})");
  for (int i = 0; i < 5; ++i) counts.Add(Refusal::kNone);
  for (int i = 0; i < 2; ++i) counts.Add(Refusal::kMalformed);
  counts.Add(Refusal::kTooManyDevices);
  WriteStatus({"learning", "it \"learns\"", 0, 3, counts, {}, {}}, TimeForm::kSeconds, &text);
  EXPECT_EQ(text, R"({"state":"learning","reason":"it \"learns\"","since":0,"taken":5,"devices":3,)"
                  R"("refused":{"malformed":2,"too_many_devices":1}})");
}

TEST(ForecastText, WritingAllocatesNothingOnceWarm) {
  const double levels[] = {0.1, 0.9}, quantiles[] = {1, 2};
  const HorizonForecast rows[] = {{1, 1, 1, true, quantiles}, {2, 2, 2, false, quantiles}};
  const std::int64_t for_ns[] = {1, 2};
  const TargetForecast target{"temp", "C", rows};
  const ForecastMessage message{"a device", 0, for_ns, {&target, 1}, levels, 0.5f, 1};
  std::string text;
  WriteForecast(message, TimeForm::kIso8601, &text);
  const std::uint64_t before = Allocations();
  WriteForecast(message, TimeForm::kIso8601, &text);
  EXPECT_EQ(Allocations() - before, 0U);
}

TEST(ForecastText, ATargetCannotHaveAKeyOfTheMessage) {
  for (const char* name : {"device", "time", "for", "skill", "version", "alarm", "when"}) {
    EXPECT_THAT(CheckTargetName(name).message(), testing::HasSubstr("name the field otherwise"));
  }
  EXPECT_TRUE(CheckTargetName("temp").ok());
}

}  // namespace
}  // namespace murmurate
