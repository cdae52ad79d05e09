#include "server/stream/connack.h"

#include <gtest/gtest.h>

#include <string>

#include "shared/core/random.h"

namespace murmurate {
namespace {

using namespace std::string_view_literals;

Greeting Examine(std::string_view bytes) {
  std::size_t needed = 0;
  return ExamineConnack(bytes, &needed);
}

// What mosquitto 2.0.11 answers to a client of MQTT 5 with an id of its own: topic alias maximum
// 10, and receive maximum 20.
constexpr std::string_view kMosquitto = "\x20\x09\x00\x00\x06\x22\x00\x0a\x21\x00\x14"sv;

TEST(Connack, IsProperWithEveryPropertyThatItMayHave) {
  EXPECT_EQ(Examine(kMosquitto), Greeting::kProper);
  EXPECT_EQ(Examine("\x20\x03\x00\x87\x00"sv), Greeting::kProper) << "no property, refused";
  const std::string all(
      "\x11\x00\x00\x00\x01\x12\x00\x02id\x13\x00\x3c\x15\x00\x01m\x16\x00\x00\x1a\x00\x01r"
      "\x1c\x00\x01s\x1f\x00\x02no\x21\x00\x14\x22\x00\x0a\x24\x01\x25\x01\x26\x00\x01k\x00\x01v"
      "\x27\x00\x01\x00\x00\x28\x01\x29\x01\x2a\x01"sv);
  const std::string packet = std::string("\x20") + static_cast<char>(3 + all.size()) +
                             std::string("\x00\x00"sv) + static_cast<char>(all.size()) + all;
  ASSERT_LT(all.size(), 125u);
  EXPECT_EQ(Examine(packet), Greeting::kProper);
  EXPECT_EQ(Examine(packet + "\xff\xff"), Greeting::kProper) << "what follows is not looked at";
}

TEST(Connack, IsProperFromAnOldBroker) {
  EXPECT_EQ(Examine("\x20\x02\x00\x01"sv), Greeting::kProper);
}

TEST(Connack, IsPartialUntilItIsWhole) {
  std::size_t needed = 0;
  for (std::size_t length = 0; length < kMosquitto.size(); ++length) {
    EXPECT_EQ(ExamineConnack(kMosquitto.substr(0, length), &needed), Greeting::kPartial);
    EXPECT_EQ(needed, length < 2 ? length + 1 : kMosquitto.size());
  }
}

TEST(Connack, IsNoneOfAnythingElse) {
  for (const std::string_view bytes :
       {"HTTP/1.1 400 Bad Request\r\n"sv, "\x16\x03\x03\x00\x02"sv, "\xe0\x03\x00\x01\x2d"sv,
        "\x21\x02\x00\x00"sv,                    // flags
        "\x20\x00"sv, "\x20\x01\x00"sv,          // too short
        "\x20\xff\x7f"sv, "\x20\x80\x80\x01"sv,  // longer than is waited for
        "\x20\x05\x00\x00\x02\x2d\x00"sv,        // a property that there is not
        "\x20\x05\x00\x00\x02\x01\x00"sv,        // one of PUBLISH
        "\x20\x05\x00\x00\x01\x24\x00"sv,        // more bytes than the properties have
        "\x20\x04\x00\x00\x01\x24"sv,            // fewer
        "\x20\x05\x00\x00\x02\x21\x00"sv,        // a value cut off
        "\x20\x07\x00\x00\x04\x1f\x00\x05x"sv,   // a text that is longer than the packet
        "\x20\x07\x00\x00\x04\x26\x00\x01x"sv,   // a name without a value
        "\x20\x03\x00\x00\x80"sv}) {             // a length cut off
    EXPECT_EQ(Examine(bytes), Greeting::kNone) << testing::PrintToString(bytes);
  }
}

TEST(Connack, ReadsNothingBeyondItsBytes) {  // under AddressSanitizer
  Random random(5);
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes(kMosquitto.substr(0, random.UniformInt(12)));
    for (std::uint32_t more = random.UniformInt(30); more > 0; --more) {
      bytes += static_cast<char>(random.UniformInt(256));
    }
    if (!bytes.empty() && random.UniformInt(2) == 0) {
      bytes[random.UniformInt(static_cast<std::uint32_t>(bytes.size()))] ^= 1
                                                                            << random.UniformInt(8);
    }
    bytes.shrink_to_fit();
    std::size_t needed = 0;
    const Greeting greeting = ExamineConnack(bytes, &needed);
    EXPECT_TRUE(greeting != Greeting::kPartial || needed > bytes.size());
  }
}

}  // namespace
}  // namespace murmurate
