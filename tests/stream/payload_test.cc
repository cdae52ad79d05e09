#include "server/stream/payload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/stream/payload_settings.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

TEST(Payload, CsvGivesEachColumnOrSaysWhyNot) {
  PayloadReader reader = Reader(ThreeFields(PayloadFormat::kCsv));
  constexpr Refusal kNone = Refusal::kNone, kMalformed = Refusal::kMalformed;
  ExpectCases(&reader, {
                           {"21.5,40.1,0.02", kNone, {21.5, 40.1, 0.02}},
                           {"21.5,40.1,0.02\r\n", kNone, {21.5, 40.1, 0.02}},
                           {" 1 ,\t2, +3e0 \n", kNone, {1, 2, 3}},
                           {"1,2,3,and more,,", kNone, {1, 2, 3}},
                           {"1,,", kNone, {1, kNan, kNan}},
                           {"1,nan,inf", kNone, {1, kNan, kNan}},
                           {"1,1e999,-1e999", kNone, {1, kNan, kNan}},
                           {"61,-1,3", kNone, {kNan, kNan, 3}},
                           {"1,N/A,3", kNone, {1, kNan, 3}},
                           {"1,2.5.1,3", kNone, {1, kNan, 3}},
                           {"1,0x10,+-3", kNone, {1, kNan, kNan}},
                           {std::string("1,2\0,3", 6), kNone, {1, kNan, 3}},
                           {",,", Refusal::kNoField},
                           {"temp,hum,vib", Refusal::kWrongType},
                           {"", kMalformed},
                           {"\n", kMalformed},
                           {"1,2", kMalformed},
                           {"1;2;3", kMalformed},
                           {"\"1\",2,3", kMalformed},
                           {"1,2,3\n4,5,6\n", kMalformed},
                           {"1,2,3\n\n", kMalformed},
                           {"1,2\r,3", kMalformed},
                           {std::string(65537, '1'), Refusal::kOversized},
                       });
}

TEST(Payload, CsvColumnsHaveNumbersOrTheNamesOfTheHeader) {
  PayloadSettings settings = ThreeFields(PayloadFormat::kCsv);
  settings.separator = ';';
  settings.header = {"when", "vib", "temp", "unused", "hum"};
  settings.time = "1";
  settings.fields[0].pointer = "5";
  settings.fields[1].pointer = "temp";
  PayloadReader reader = Reader(settings);
  Sample sample;
  ASSERT_EQ(reader.Read("1700000000.5;3;2;x;1", &sample), Refusal::kNone);
  ExpectValues(sample.values, {1, 2, 3}, "by name and number");
  EXPECT_EQ(sample.time_ns, 1700000000500000000);
  EXPECT_EQ(reader.Read("1700000000.5;3;2;x", &sample), Refusal::kMalformed);
  EXPECT_EQ(reader.Read("1700000000.5;3;2;x;1;", &sample), Refusal::kMalformed);
}

TEST(Payload, FloatsAreExactlyTheFields) {
  PayloadReader reader = Reader(ThreeFields(PayloadFormat::kFloats));
  const float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  ExpectCases(
      &reader,
      {
          {Floats({21.5f, 40.1f, 0.02f}), Refusal::kNone, {21.5f, 40.1f, 0.02f}},
          {std::string("\0\0\x80\x3F\0\0\0\x40\0\0\x40\x40", 12), Refusal::kNone, {1, 2, 3}},
          {Floats({nan, infinity, 1}), Refusal::kNone, {kNan, kNan, 1}},
          {Floats({-41, -1, 1}), Refusal::kNone, {kNan, kNan, 1}},
          {Floats({nan, -1, -infinity}), Refusal::kNoField},
          {Floats({1, 2}), Refusal::kMalformed},
          {Floats({1, 2, 3, 4}), Refusal::kMalformed},
          {Floats({1, 2, 3}) + "x", Refusal::kMalformed},
          {"", Refusal::kMalformed},
      });
}

TEST(Payload, ATableIsVerifiedAndHasAValueForEachField) {
  PayloadReader reader = Reader(ThreeFields(PayloadFormat::kFlatBuffer));
  const float nan = std::nanf("");
  const std::vector<float> three = {1, 2, 3}, two = {1, 2}, gap = {61, nan, 3}, none(3, nan);
  std::string other_kind = Table(&three);
  other_kind[4] = 'X';
  ExpectCases(&reader,
              {{Table(&three), Refusal::kNone, {1, 2, 3}},
               {Table(&gap), Refusal::kNone, {kNan, kNan, 3}},
               {Table(&none), Refusal::kNoField},
               {Table(&two), Refusal::kMalformed},
               {Table<float>(nullptr), Refusal::kMalformed},
               {Table(&three, -1), Refusal::kBadTime},
               {Table(&three, std::numeric_limits<std::int64_t>::max()), Refusal::kBadTime},
               {other_kind, Refusal::kMalformed},
               {"", Refusal::kMalformed},
               {std::string(100, '\xFF'), Refusal::kMalformed}});
}

TEST(Payload, ATableHasTimeSequenceAndId) {
  PayloadSettings settings = ThreeFields(PayloadFormat::kFlatBuffer);
  const std::vector<float> three = {1, 2, 3};
  const std::string payload = Table(&three, 1700000000123456789, 0, "pump", "order 7");
  Sample sample;
  sample.device = "of the topic";
  PayloadReader by_topic = Reader(settings);
  ASSERT_EQ(by_topic.Read(payload, &sample), Refusal::kNone);
  EXPECT_EQ(sample.device, "of the topic");
  EXPECT_EQ(sample.time_ns, 1700000000123456789);
  EXPECT_EQ(sample.sequence, 0U);
  EXPECT_EQ(sample.id, "order 7");

  settings.device = "device";
  PayloadReader by_payload = Reader(settings);
  ASSERT_EQ(by_payload.Read(payload, &sample), Refusal::kNone);
  EXPECT_EQ(sample.device, "pump");
  EXPECT_EQ(by_payload.Read(Table(&three), &sample), Refusal::kEmptyDevice);

  // An unaligned payload, and nothing left of the one before.
  const std::string shifted = "x" + Table(&three);
  ASSERT_EQ(by_topic.Read(std::string_view(shifted).substr(1), &sample), Refusal::kNone);
  EXPECT_EQ(sample.time_ns, 0);
  EXPECT_EQ(sample.sequence, std::nullopt);
  EXPECT_EQ(sample.id, "");
}

PayloadSettings WithAll(TimeForm form) {
  PayloadSettings settings;
  settings.fields = {{"temp"}};
  settings.time = "/at/t";
  settings.sequence = "/seq";
  settings.id = "/id";
  settings.device = "/who";
  settings.time_form = form;
  return settings;
}

TEST(Payload, JsonHasTimeSequenceIdAndDeviceWhereThePointersSay) {
  PayloadReader reader = Reader(WithAll(TimeForm::kSeconds));
  Sample sample;
  ASSERT_EQ(reader.Read(R"({"temp":1,"seq":12,"id":"a\"b","at":{"t":1700000000.123},"who":"p"})",
                        &sample),
            Refusal::kNone);
  EXPECT_EQ(sample.time_ns, 1700000000123000000);
  EXPECT_EQ(sample.sequence, 12U);
  EXPECT_EQ(sample.id, "a\"b");
  EXPECT_EQ(sample.device, "p");

  ASSERT_EQ(reader.Read(R"({"temp":1,"who":7,"id":18446744073709551615})", &sample),
            Refusal::kNone);
  EXPECT_EQ(sample.time_ns, 0);
  EXPECT_EQ(sample.sequence, std::nullopt);
  EXPECT_EQ(sample.id, "18446744073709551615");
  EXPECT_EQ(sample.device, "7");

  ASSERT_EQ(reader.Read(R"({"temp":1,"who":"p","id":null,"seq":null,"at":{"t":null}})", &sample),
            Refusal::kNone);
  EXPECT_EQ(sample.time_ns, 0);
  EXPECT_EQ(sample.sequence, std::nullopt);
  EXPECT_EQ(sample.id, "");

  const std::string long_name(129, 'n');
  const std::pair<std::string, Refusal> kCases[] = {
      {R"("seq":-1)", Refusal::kWrongType},
      {R"("seq":18446744073709551616)", Refusal::kWrongType},
      {R"("seq":"1")", Refusal::kWrongType},
      {R"("seq":true)", Refusal::kWrongType},
      {R"("seq":[1])", Refusal::kWrongType},
      {R"("seq":1,"seq":1)", Refusal::kTwice},
      {R"("id":1.5)", Refusal::kWrongType},
      {R"("id":{})", Refusal::kWrongType},
      {R"("id":")" + long_name + "\"", Refusal::kIdTooLong},
      {R"("who":"")", Refusal::kEmptyDevice},
      {R"("who":null)", Refusal::kEmptyDevice},
      {R"("who":"a/b")", Refusal::kBadDeviceName},
      {R"("who":"a\u0007")", Refusal::kBadDeviceName},
      {R"("who":"$SYS")", Refusal::kBadDeviceName},
      {R"("who":")" + long_name + "\"", Refusal::kDeviceNameTooLong},
      {R"("who":-1)", Refusal::kWrongType},
      {R"("at":{"t":-1})", Refusal::kBadTime},
      {R"("at":{"t":1e30})", Refusal::kBadTime},
      {R"("at":{"t":4611686019})", Refusal::kBadTime},
      {R"("at":{"t":"2026-05-01T12:34:56Z"})", Refusal::kBadTime},
      {R"("at":{"t":true})", Refusal::kBadTime},
      {R"("at":{"t":{}})", Refusal::kBadTime},
  };
  for (const auto& [part, refusal] : kCases) {
    const std::string who = part.find("who") == part.npos ? R"(,"who":"p")" : "";
    EXPECT_STREQ(WordOf(reader.Read("{\"temp\":1" + who + "," + part + "}", &sample)),
                 WordOf(refusal))
        << part;
  }
  EXPECT_EQ(reader.Read(R"({"temp":1})", &sample), Refusal::kEmptyDevice);
}

TEST(Payload, ATimeIsReadInItsForm) {
  struct Case {
    TimeForm form;
    const char* time;
    std::int64_t time_ns;
  };
  const Case kCases[] = {
      {TimeForm::kMilliseconds, "1700000000123", 1700000000123000000},
      {TimeForm::kMicroseconds, "1700000000123456", 1700000000123456000},
      {TimeForm::kNanoseconds, "1700000000123456789", 1700000000123456789},
      {TimeForm::kSeconds, "1.7e9", 1700000000000000000},
      {TimeForm::kIso8601, "\"2026-05-01T14:34:56.5+02:00\"", 1777638896500000000},
  };
  for (const Case& expected : kCases) {
    PayloadReader reader = Reader(WithAll(expected.form));
    Sample sample;
    const std::string payload =
        std::string(R"({"who":"p","temp":1,"at":{"t":)") + expected.time + "}}";
    EXPECT_EQ(reader.Read(payload, &sample), Refusal::kNone) << payload;
    EXPECT_EQ(sample.time_ns, expected.time_ns) << payload;
  }
  PayloadReader iso = Reader(WithAll(TimeForm::kIso8601));
  Sample sample;
  EXPECT_EQ(iso.Read(R"({"who":"p","temp":1,"at":{"t":1700000000}})", &sample), Refusal::kBadTime);
  EXPECT_EQ(iso.Read(R"({"who":"p","temp":1,"at":{"t":17.5}})", &sample), Refusal::kBadTime);
  EXPECT_EQ(iso.Read(R"({"who":"p","temp":1,"at":{"t":"today"}})", &sample), Refusal::kBadTime);
}

TEST(Payload, CsvHasTimeSequenceIdAndDeviceInColumns) {
  PayloadSettings settings;
  settings.format = PayloadFormat::kCsv;
  settings.fields = {{"temp"}};
  settings.time = "2";
  settings.sequence = "3";
  settings.id = "4";
  settings.device = "5";
  settings.time_form = TimeForm::kIso8601;
  PayloadReader reader = Reader(settings);
  Sample sample;
  ASSERT_EQ(reader.Read("1,2026-05-01 12:34:56.5,12,007,pump 3", &sample), Refusal::kNone);
  EXPECT_EQ(sample.time_ns, 1777638896500000000);
  EXPECT_EQ(sample.sequence, 12U);
  EXPECT_EQ(sample.id, "007");
  EXPECT_EQ(sample.device, "pump 3");
  EXPECT_EQ(reader.Read("1,2026-05-01T12:34:56Z,12.5,,p", &sample), Refusal::kWrongType);
  EXPECT_EQ(reader.Read("1,2026-05-01T12:34:56Z,-12,,p", &sample), Refusal::kWrongType);
  EXPECT_EQ(reader.Read("1,1777638896,12,,p", &sample), Refusal::kBadTime);
  EXPECT_EQ(reader.Read("1,,,,", &sample), Refusal::kEmptyDevice);
  EXPECT_EQ(reader.Read("1,,,,p", &sample), Refusal::kNone);
}

TEST(Payload, EachFieldCountsWhyItWasNotThere) {
  PayloadReader reader = Reader(ThreeFields(PayloadFormat::kJson));
  Sample sample;
  EXPECT_EQ(reader.Read(R"({"temp":1,"hum":1,"vib":1})", &sample), Refusal::kNone);
  EXPECT_EQ(reader.Read(R"({"temp":100,"hum":null,"vib":"x"})", &sample), Refusal::kWrongType);
  EXPECT_EQ(reader.Read(R"({"temp":-100,"vib":1})", &sample), Refusal::kNone);
  EXPECT_EQ(reader.Read(R"({"temp":"x")", &sample), Refusal::kMalformed);  // counts nothing
  const auto is = [&](std::size_t i, std::uint64_t missing, std::uint64_t out_of_range,
                      std::uint64_t wrong_type) {
    const FieldCounts& counts = reader.counts()[i];
    return counts.missing == missing && counts.out_of_range == out_of_range &&
           counts.wrong_type == wrong_type;
  };
  EXPECT_TRUE(is(0, 0, 2, 0));
  EXPECT_TRUE(is(1, 2, 0, 0));
  EXPECT_TRUE(is(2, 0, 0, 1));
}

TEST(Payload, SettingsThatCannotBeAreRefusedWithTheRemedy) {
  struct Case {
    void (*change)(PayloadSettings*);
    const char* sentence;
  };
  const Case kCases[] = {
      {[](auto* s) { s->fields.clear(); }, "name at least one"},
      {[](auto* s) { s->fields.resize(257, {"x"}); }, "at most 256"},
      {[](auto* s) { s->fields[1].name = ""; }, "give it one"},
      {[](auto* s) { s->fields[1].name = "temp"; }, "two fields are called 'temp'"},
      {[](auto* s) { s->fields[0].min = 60; }, "min must lie below"},
      {[](auto* s) { s->fields[0].max = std::nan(""); }, "min must lie below"},
      {[](auto* s) { s->fields[1].min = std::nan(""); }, "min must lie below"},
      {[](auto* s) { s->max_bytes = 0; }, "max_bytes = 0"},
      {[](auto* s) { s->fields[0].pointer = "temp"; }, "does not begin with '/'"},
      {[](auto* s) { s->fields[0].pointer = "/a~2"; }, "'~' stands alone"},
      {[](auto* s) { s->fields[0].pointer = "/a~"; }, "'~' stands alone"},
      {[](auto* s) { s->fields[0].pointer = std::string(33, '/'); }, "deeper than 32"},
      {[](auto* s) { s->fields[0].pointer = "/hum"; }, "two values are read from '/hum'"},
      {[](auto* s) { s->sequence = "/vib"; }, "two values are read from '/vib'"},
      {[](auto* s) { s->format = PayloadFormat::kCsv, s->separator = '.'; }, "choose ','"},
      {[](auto* s) { s->format = PayloadFormat::kCsv, s->time = "2"; }, "from the column '2'"},
      {[](auto* s) { s->format = PayloadFormat::kCsv, s->time = "0"; }, "from 1 to 4096"},
      {[](auto* s) { s->format = PayloadFormat::kCsv, s->time = "4097"; }, "from 1 to 4096"},
      {[](auto* s) { s->format = PayloadFormat::kCsv, s->time = "when"; }, "in 'header'"},
      {[](auto* s) { s->format = PayloadFormat::kCsv, s->header = {"temp"}; }, "column 'hum'"},
      {[](auto* s) { s->format = PayloadFormat::kFloats, s->time = "/t"; }, "fixed form"},
      {[](auto* s) { s->format = PayloadFormat::kFloats, s->device = "/d"; }, "in the topic"},
      {[](auto* s) { s->format = PayloadFormat::kFloats, s->fields[0].pointer = "/t"; }, "order"},
      {[](auto* s) { s->format = PayloadFormat::kFlatBuffer, s->id = "/id"; }, "fixed form"},
      {[](auto* s) { s->format = PayloadFormat::kFlatBuffer, s->device = "/d"; }, "in 'device'"},
  };
  for (const Case& wrong : kCases) {
    PayloadSettings settings = ThreeFields(PayloadFormat::kJson);
    wrong.change(&settings);
    const Result<PayloadReader> reader = PayloadReader::Make(settings);
    ASSERT_FALSE(reader.ok()) << wrong.sentence;
    EXPECT_EQ(reader.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(reader.status().message(), HasSubstr(wrong.sentence));
  }
}

TEST(Payload, AKeyWithASlashIsAField) {
  PayloadSettings settings;
  settings.fields = {{"m/s"}, {"a~b"}};
  PayloadReader reader = Reader(settings);
  ExpectCases(&reader, {{R"({"m/s":1,"a~b":2})", Refusal::kNone, {1, 2}}});
}

TEST(Refusals, HaveAWordAndASentenceEach) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < kRefusals; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    words.emplace_back(WordOf(refusal));
    EXPECT_EQ(words.back().find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), std::string::npos);
    EXPECT_EQ(std::string(SentenceOf(refusal)).empty(), refusal == Refusal::kNone);
  }
  EXPECT_EQ(words.front(), "none");
  EXPECT_EQ(words.back(), "too_many_devices");
  std::sort(words.begin(), words.end());
  EXPECT_EQ(std::unique(words.begin(), words.end()), words.end());
}

TEST(PayloadFormats, HaveNames) {
  for (const char* name : {"json", "csv", "floats", "flatbuffer"}) {
    ASSERT_TRUE(Named<PayloadFormat>(name));
    EXPECT_STREQ(TextOf(*Named<PayloadFormat>(name)), name);
  }
  EXPECT_EQ(Named<PayloadFormat>("xml"), std::nullopt);
}

TEST(Payload, ValuesAreDoublesAndWhatIsBeyond1e15IsCounted) {
  for (const PayloadFormat format : {PayloadFormat::kJson, PayloadFormat::kCsv}) {
    PayloadSettings settings;
    settings.format = format;
    settings.fields = {{"meter"}, {"other"}};
    PayloadReader reader = Reader(settings);
    Sample sample;
    const bool json = format == PayloadFormat::kJson;
    ASSERT_EQ(
        reader.Read(json ? R"({"meter":123456792.25,"other":1e20})" : "123456792.25,1e20", &sample),
        Refusal::kNone);
    EXPECT_EQ(sample.values[0], 123456792.25);
    EXPECT_TRUE(std::isnan(sample.values[1]));
    EXPECT_EQ(reader.counts()[1].out_of_range, 1u);
    EXPECT_EQ(reader.counts()[1].missing, 0u);
  }
  PayloadReader table = Reader(ThreeFields(PayloadFormat::kFlatBuffer));
  const std::vector<double> three = {1, 123456792.25, 3}, two = {1, 2};
  ExpectCases(&table, {{Table(&three), Refusal::kNone, {1, 123456792.25, 3}},
                       {Table(&two), Refusal::kMalformed}});
}

TEST(Payload, ASequenceMayBeAWholeNumberWithADot) {
  PayloadSettings settings;
  settings.fields = {{"x"}};
  settings.sequence = "/seq";
  PayloadReader reader = Reader(settings);
  Sample sample;
  for (const auto& [text, number] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"16.0", 16}, {"0.0", 0}, {"1.6e1", 16}, {"9007199254740992.0", 1ull << 53}}) {
    ASSERT_EQ(reader.Read("{\"x\":1,\"seq\":" + text + "}", &sample), Refusal::kNone) << text;
    EXPECT_EQ(sample.sequence, number);
  }
  for (const char* text : {"16.5", "-1.0", "-1", "1e300", "true", "false", "\"16\""})
    EXPECT_EQ(reader.Read(std::string("{\"x\":1,\"seq\":") + text + "}", &sample),
              Refusal::kWrongType)
        << text;
}

}  // namespace
}  // namespace murmurate
