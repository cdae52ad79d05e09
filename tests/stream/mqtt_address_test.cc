#include "server/stream/mqtt_address.h"

#include <gmock/gmock.h>

namespace murmurate {
namespace {

using testing::HasSubstr;
using testing::Not;

MqttAddress Parsed(const std::string& text) {
  Result<MqttAddress> address = ParseMqttAddress(text);
  EXPECT_TRUE(address.ok()) << text << ": " << address.status();
  return address.ok() ? *address : MqttAddress();
}

std::string Refusal(const std::string& text) {
  const Result<MqttAddress> address = ParseMqttAddress(text);
  EXPECT_FALSE(address.ok()) << text;
  EXPECT_EQ(address.status().code(), StatusCode::kInvalidArgument);
  return address.status().message();
}

TEST(MqttAddress, HasTheUsualPortWhenNoneIsWritten) {
  const MqttAddress plain = Parsed("mqtt://localhost");
  EXPECT_FALSE(plain.secure);
  EXPECT_EQ(plain.host, "localhost");
  EXPECT_EQ(plain.port, 1883);
  const MqttAddress secure = Parsed("mqtts://broker.example.org");
  EXPECT_TRUE(secure.secure);
  EXPECT_EQ(secure.host, "broker.example.org");
  EXPECT_EQ(secure.port, 8883);
}

TEST(MqttAddress, HasThePortThatIsWritten) {
  EXPECT_EQ(Parsed("mqtt://10.0.0.7:1884").port, 1884);
  EXPECT_EQ(Parsed("mqtts://b:1").port, 1);
  EXPECT_EQ(Parsed("mqtt://b:65535").port, 65535);
}

TEST(MqttAddress, TakesIpv6InBrackets) {
  const MqttAddress address = Parsed("mqtt://[::1]:1999");
  EXPECT_EQ(address.host, "::1");
  EXPECT_EQ(address.port, 1999);
  EXPECT_EQ(address.ToString(), "mqtt://[::1]:1999");
  EXPECT_EQ(Parsed("mqtts://[fe80::2]").port, 8883);
}

TEST(MqttAddress, IsWrittenWithItsPort) {
  EXPECT_EQ(Parsed("mqtts://localhost").ToString(), "mqtts://localhost:8883");
}

TEST(MqttAddress, RefusesEverythingElseAndSaysWhatToWrite) {
  for (const char* text : {"",
                           "localhost",
                           "localhost:1883",
                           "tcp://localhost:1883",
                           "http://localhost",
                           "mqtt:",
                           "mqtt:localhost",
                           "mqtt:/localhost",
                           "mqtt://",
                           "mqtts://",
                           "mqtt://:1883",
                           "MQTT://localhost",
                           "ws://localhost",
                           "mqtt://local host",
                           "mqtt://localhost ",
                           " mqtt://localhost",
                           "mqtt://localhost:",
                           "mqtt://localhost:0",
                           "mqtt://localhost:65536",
                           "mqtt://localhost:99999999999",
                           "mqtt://localhost:-1",
                           "mqtt://localhost:1883x",
                           "mqtt://localhost:+1",
                           "mqtt://::1",
                           "mqtt://::1:1883",
                           "mqtt://[::1",
                           "mqtt://[::1]1883",
                           "mqtt://[]",
                           "mqtt://[local]",
                           "mqtt://localhost/",
                           "mqtt://localhost:1883/a",
                           "mqtt://localhost?x=1",
                           "mqtt://a#b",
                           "mqtt://a\nb",
                           "mqtt://b\xc3\xa4r"}) {
    EXPECT_THAT(Refusal(text), HasSubstr("write mqtt://HOST[:PORT]")) << text;
  }
  EXPECT_THAT(Refusal("mqtt://" + std::string(254, 'a')), HasSubstr("253 bytes"));
}

TEST(MqttAddress, NeverRepeatsAPasswordThatWasWrittenIntoIt) {
  const std::string refusal = Refusal("mqtt://ann:hunter2@localhost");
  EXPECT_THAT(refusal, Not(HasSubstr("hunter2")));
  EXPECT_THAT(refusal, HasSubstr("settings of their own"));
}

}  // namespace
}  // namespace murmurate
