// The rules of JSON payloads, as tables.
#include <gtest/gtest.h>

#include <string>

#include "tests/stream/payload_settings.h"

namespace murmurate {
namespace {

std::string Nested(int depth, const std::string& inner) {
  std::string text = inner;
  for (int i = 1; i < depth; ++i) text = "{\"x\":" + text + "}";
  return "{\"temp\":1,\"x\":" + text + "}";
}

TEST(Payload, JsonGivesEachFieldOrSaysWhyNot) {
  PayloadReader reader = Reader(ThreeFields(PayloadFormat::kJson));
  constexpr Refusal kNone = Refusal::kNone, kMalformed = Refusal::kMalformed;
  ExpectCases(
      &reader,
      {
          {R"({"temp":21.5,"hum":40.1,"vib":0.02,"seq":12})", kNone, {21.5, 40.1, 0.02}},
          {" {\n\t\"vib\" : 1e-2 , \"temp\" : -40 ,\"hum\":0 } \r\n", kNone, {-40, 0, 0.01}},
          {R"({"other":[1,{"temp":7}],"temp":2,"x":{"hum":3}})", kNone, {2, kNan, kNan}},
          {R"({"\u0074emp":2})", kNone, {2, kNan, kNan}},  // the same key
          {R"({"temp":null,"hum":1,"vib":2})", kNone, {kNan, 1, 2}},
          {R"({"temp":true,"hum":false})", kNone, {1, 0, kNan}},
          {R"({"temp":"21.5","hum":1})", kNone, {kNan, 1, kNan}},
          {R"({"temp":{"value":3},"hum":[4],"vib":5})", kNone, {kNan, kNan, 5}},
          {R"({"temp":60.001,"hum":-0.001,"vib":5})", kNone, {kNan, kNan, 5}},
          {R"({"temp":60,"hum":1e15,"vib":1e20})", kNone, {60, 1e15, kNan}},
          {R"({"vib":18446744073709551616})", Refusal::kNoField},
          {R"({"temp":1,"other":1,"other":2})", kNone, {1, kNan, kNan}},
          {"\xEF\xBB\xBF{\"temp\":1}", kNone, {1, kNan, kNan}},  // a byte order mark
          {R"({"temp":1,"temp":1})", Refusal::kTwice},
          {R"({"temp":null,"temp":1})", Refusal::kTwice},
          {R"({"temp":[],"temp":1})", Refusal::kTwice},
          {R"({})", Refusal::kNoField},
          {R"({"Temp":1})", Refusal::kNoField},
          {R"({"temp":null,"hum":null,"vib":null})", Refusal::kNoField},
          {R"({"temp":61})", Refusal::kNoField},
          {R"([])", Refusal::kNoField},
          {R"([1,2,3])", Refusal::kNoField},
          {R"({"temp":"21.5"})", Refusal::kWrongType},
          {R"({"temp":{},"hum":null})", Refusal::kWrongType},
          {R"(21.5)", Refusal::kWrongType},
          {R"("temp")", Refusal::kWrongType},
          {R"(null)", Refusal::kWrongType},
          {"", kMalformed},
          {" ", kMalformed},
          {std::string(1, '\0'), kMalformed},
          {"temp=21.5", kMalformed},
          {R"({"temp":1}})", kMalformed},
          {R"({"temp":1}{"temp":2})", kMalformed},
          {R"({"temp":1,})", kMalformed},
          {R"({"temp":})", kMalformed},
          {R"({'temp':1})", kMalformed},
          {R"({temp:1})", kMalformed},
          {R"({"temp":1 /* so */})", kMalformed},
          {R"({"temp":NaN})", kMalformed},
          {R"({"temp":-Infinity})", kMalformed},
          {R"({"temp":1e999})", kMalformed},
          {R"({"temp":1,"other":1e999})", kMalformed},
          {R"({"temp":01})", kMalformed},
          {R"({"temp":.5})", kMalformed},
          {R"({"temp":+5})", kMalformed},
          {R"({"temp":0x10})", kMalformed},
          {R"({"temp":1,"x":"\ud800"})", kMalformed},
          {"{\"temp\":1,\"x\":\"\xFF\"}", kMalformed},
          {"{\"temp\":1,\"x\":\"\n\"}", kMalformed},
          {Nested(31, "1"), kNone, {1, kNan, kNan}},
          {Nested(32, "{}"), Refusal::kTooDeep},
          {std::string(32, '[') + std::string(32, ']'), Refusal::kNoField},
          {std::string(33, '[') + std::string(33, ']'), Refusal::kTooDeep},
          {std::string(65536, '['), Refusal::kTooDeep},
          {std::string(65537, '['), Refusal::kOversized},
      });
}

TEST(Payload, JsonPointersReachIntoObjectsAndLists) {
  PayloadSettings settings;
  settings.fields = {{"a", "/air/hum"}, {"b", "/v/1"}, {"c", "/v/10/x"},     {"d", "/a~1b~0c"},
                     {"e", "/air/"},    {"f", "/10"},  {"g", "/air/co2/0/0"}};
  PayloadReader reader = Reader(settings);
  ExpectCases(
      &reader,
      {
          {R"({"air":{"hum":1,"":5,"co2":[[7,8],9]},"v":[0,2,0,0,0,0,0,0,0,0,{"x":3}],"a/b~c":4,"10":6})",
           Refusal::kNone,
           {1, 2, 3, 4, 5, 6, 7}},
          {R"({"v":{"1":2,"10":{"x":3}},"air":1})",
           Refusal::kNone,
           {kNan, 2, 3, kNan, kNan, kNan, kNan}},
          {R"([0,0,0,0,0,0,0,0,0,0,6])", Refusal::kNone, {kNan, kNan, kNan, kNan, kNan, 6, kNan}},
          {R"({"air":{"hum":1},"air":{"hum":2}})", Refusal::kTwice},
          {R"({"air":{"x":1},"air":{"hum":2}})",
           Refusal::kNone,
           {2, kNan, kNan, kNan, kNan, kNan, kNan}},
      });
}

TEST(Payload, JsonMayBeTheBareNumber) {
  PayloadSettings settings;
  settings.fields = {{"temp", ""}};
  PayloadReader reader = Reader(settings);
  ExpectCases(&reader, {{"21.5", Refusal::kNone, {21.5f}},
                        {" -3\n", Refusal::kNone, {-3}},
                        {"true", Refusal::kNone, {1}},
                        {"null", Refusal::kNoField},
                        {"\"21.5\"", Refusal::kWrongType},
                        {"{}", Refusal::kWrongType},
                        {"[21.5]", Refusal::kWrongType},
                        {"21.5 22", Refusal::kMalformed}});
}

}  // namespace
}  // namespace murmurate
