#include "server/stream/mqtt_settings.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using testing::Not;

MqttSettings Good() {
  MqttSettings settings;
  settings.broker = "mqtt://127.0.0.1";
  settings.subscriptions = {{"sensors/+/data", 1}};
  return settings;
}

std::string Refusal(const MqttSettings& settings) {
  const Status status = CheckMqttSettings(settings);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(status.message(), Not(HasSubstr("hunter2")));
  return status.message();
}

TEST(MqttSettings, AreFineForABrokerOfThisMachine) {
  EXPECT_TRUE(CheckMqttSettings(Good()).ok()) << CheckMqttSettings(Good());
  MqttSettings settings = Good();
  settings.broker = "mqtt://[::1]:1884";
  settings.user = "ann";
  settings.password = "hunter2";
  settings.will = {"sensors/forecaster", "gone", 1, true};
  EXPECT_TRUE(CheckMqttSettings(settings).ok()) << CheckMqttSettings(settings);
}

TEST(MqttSettings, RefuseAWrongAddress) {
  MqttSettings settings = Good();
  settings.broker = "tcp://localhost";
  EXPECT_THAT(Refusal(settings), HasSubstr("write mqtt://HOST[:PORT]"));
}

TEST(MqttSettings, RefuseAForeignBrokerWithoutTlsUnlessItIsWanted) {
  MqttSettings settings = Good();
  settings.broker = "mqtt://192.0.2.1";  // documentation only (RFC 5737); nothing is connected
  settings.user = "ann";
  EXPECT_THAT(Refusal(settings), HasSubstr("use mqtts://"));
  settings.insecure = true;
  EXPECT_TRUE(CheckMqttSettings(settings).ok());
}

TEST(MqttSettings, RefuseAForeignBrokerThatDoesNotKnowUs) {
  MqttSettings settings = Good();
  settings.broker = "mqtts://192.0.2.1";
  EXPECT_THAT(Refusal(settings), HasSubstr("neither a user nor a client's certificate"));
  settings.user = "ann";
  EXPECT_TRUE(CheckMqttSettings(settings).ok());
}

TEST(MqttSettings, RefuseAPasswordWithoutAUser) {
  MqttSettings settings = Good();
  settings.password = "hunter2";
  EXPECT_THAT(Refusal(settings), HasSubstr("set both"));
  settings.user = "ann";
  settings.password = std::string("hunter2\0", 8);
  EXPECT_THAT(Refusal(settings), HasSubstr("zero byte"));
}

TEST(MqttSettings, RefuseFilesOfTlsWithoutTls) {
  MqttSettings settings = Good();
  settings.ca_file = "/ca.pem";
  EXPECT_THAT(Refusal(settings), HasSubstr("write broker = \"mqtts://127.0.0.1\""));
}

TEST(MqttSettings, RefuseACertificateWithoutItsKeyAndFilesThatCannotBeRead) {
  TemporaryFolder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "x";
  MqttSettings settings = Good();
  settings.broker = "mqtts://127.0.0.1";
  settings.certificate_file = file;
  EXPECT_THAT(Refusal(settings), HasSubstr("set both certificate_file and key_file, or neither"));
  settings.key_file = folder.path() + "/none";
  EXPECT_THAT(Refusal(settings), HasSubstr("the key's file '" + settings.key_file));
  settings.key_file = file;
  chmod(file.c_str(), 0644);
  EXPECT_THAT(Refusal(settings), HasSubstr("chmod 600"));
  chmod(file.c_str(), 0600);
  EXPECT_TRUE(CheckMqttSettings(settings).ok()) << CheckMqttSettings(settings);
  settings.ca_file = folder.path() + "/none";
  EXPECT_THAT(Refusal(settings), HasSubstr("the authority's file"));
}

TEST(MqttSettings, RefuseWhatIsNoTopicAndNoQos) {
  for (const char* filter : {"", "a/#/b", "a+/b", "a/b#", "#/a"}) {
    MqttSettings settings = Good();
    settings.subscriptions = {{filter, 1}};
    EXPECT_THAT(Refusal(settings), HasSubstr("no filter of MQTT topics")) << filter;
  }
  MqttSettings settings = Good();
  settings.subscriptions = {{std::string("a\xff"), 1}};
  EXPECT_THAT(Refusal(settings), HasSubstr("no filter of MQTT topics"));
  settings.subscriptions = {{"a", 3}};
  EXPECT_THAT(Refusal(settings), HasSubstr("write 0 (at most once)"));
  settings = Good();
  settings.will = {"a/+", "", 0, false};
  EXPECT_THAT(Refusal(settings), HasSubstr("without + and #"));
  settings.will = {"a", std::string(65536, 'x'), 0, false};
  EXPECT_THAT(Refusal(settings), HasSubstr("65,535 bytes"));
  settings.will = {"a", "", -1, false};
  EXPECT_THAT(Refusal(settings), HasSubstr("the qos of the will"));
}

TEST(MqttSettings, RefuseNumbersOutOfTheirRange) {
  for (const int wrong : {0, -1, 65536}) {
    MqttSettings settings = Good();
    settings.maximum_in_flight = wrong;
    EXPECT_THAT(Refusal(settings), HasSubstr("from 1 to 65535"));
  }
  for (const int wrong : {0, 4, 65536}) {
    MqttSettings settings = Good();
    settings.keepalive_s = wrong;
    EXPECT_THAT(Refusal(settings), HasSubstr("from 5 to 65535"));
  }
  for (const std::size_t wrong : {std::size_t{0}, std::size_t{63}, (std::size_t{256} << 20) + 1}) {
    MqttSettings settings = Good();
    settings.maximum_message_bytes = wrong;
    EXPECT_THAT(Refusal(settings), HasSubstr("from 64 to"));
  }
}

}  // namespace
}  // namespace murmurate
