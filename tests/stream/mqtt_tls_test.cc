// Links by TLS, and those that must not come about.
#include <gmock/gmock.h>

#include "server/stream/mqtt_link.h"
#include "tests/stream/broker.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

class MqttTls : public testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
    files_ = std::make_unique<Certificates>();
    Start({});
  }
  void Start(Broker::Options options) {
    options.secure = files_.get();
    broker_ = std::make_unique<Broker>(options);
    ASSERT_TRUE(broker_->Start());
  }
  MqttSettings Settings(const std::string& authority = "ca.pem") const {
    MqttSettings settings = SettingsFor(broker_->address(), "a");
    if (!authority.empty()) settings.ca_file = files_->Path(authority);
    return settings;
  }
  std::string Refusal(const MqttSettings& settings) {
    Probe probe(settings);
    EXPECT_TRUE(probe.Until([&] { return !probe.states.empty(); }));
    EXPECT_FALSE(probe.link->up());
    return probe.Trouble();
  }
  std::unique_ptr<Certificates> files_;
  std::unique_ptr<Broker> broker_;
};

TEST_F(MqttTls, CarriesMessagesBothWays) {
  for (const MqttProtocol protocol : {MqttProtocol::k311, MqttProtocol::k5}) {
    MqttSettings settings = Settings();
    settings.protocol = protocol;
    Probe reader(settings), writer(settings);
    ASSERT_TRUE(reader.UntilUp()) << reader.Trouble();
    ASSERT_TRUE(writer.UntilUp()) << writer.Trouble();
    const std::string large(100'000, 'y');
    for (int i = 0; i < 50; ++i) {
      (void)writer.link->Publish("a", i == 25 ? large : std::to_string(i), i % 3);
    }
    ASSERT_TRUE(DriveUntil(
        kPatience, [&] { return reader.got.size() >= 50; },
        [&] {
          writer.link->PollOnce(0);
          reader.link->PollOnce(2);
        }));
    EXPECT_EQ(reader.link->counters().received_bytes, 50 + 10 + 39 * 2 + large.size());
  }
}

TEST_F(MqttTls, KnowsTheHostByItsName) {
  MqttSettings settings = Settings();
  settings.broker = "mqtts://localhost:" + std::to_string(broker_->port());
  Probe probe(settings);
  EXPECT_TRUE(probe.UntilUp()) << probe.Trouble();
}

TEST_F(MqttTls, RefusesABrokerOfAnotherAuthority) {
  EXPECT_THAT(Refusal(Settings("other-ca.pem")), HasSubstr("certificate verify failed"));
  EXPECT_THAT(Refusal(Settings("")), HasSubstr("certificate verify failed")) << "the system's own";
}

TEST_F(MqttTls, RefusesABrokerOfAnotherName) {
  Broker::Options options;
  options.certificate = "stranger.pem";
  Start(options);
  EXPECT_THAT(Refusal(Settings()), HasSubstr("host name verification failed"));
}

TEST_F(MqttTls, ShowsItsOwnCertificateWhereItIsWanted) {
  Broker::Options options;
  options.wants_client_certificate = true;
  Start(options);
  MqttSettings settings = Settings();
  EXPECT_THAT(Refusal(settings), HasSubstr("TLS failed"));
  settings.certificate_file = files_->Path("client.pem");
  settings.key_file = files_->Path("client.key");
  Probe probe(settings);
  EXPECT_TRUE(probe.UntilUp()) << probe.Trouble();
}

TEST_F(MqttTls, SaysWhichFileItCannotUse) {
  MqttSettings settings = Settings();
  settings.certificate_file = files_->Path("client.pem");
  settings.key_file = files_->Path("server.key");
  EXPECT_THAT(Refusal(settings), HasSubstr("key"));
  settings = Settings("ca.key");
  EXPECT_THAT(Refusal(settings), HasSubstr("ca.key"));
}

TEST_F(MqttTls, SaysSoWhenOnlyOneOfTheTwoSpeaksIt) {
  MqttSettings plain = SettingsFor("mqtt://127.0.0.1:" + std::to_string(broker_->port()));
  EXPECT_THAT(Refusal(plain), HasSubstr("without TLS?"));
  Broker open;
  ASSERT_TRUE(open.Start());
  MqttSettings secure = Settings();
  secure.broker = "mqtts://127.0.0.1:" + std::to_string(open.port());
  EXPECT_THAT(Refusal(secure), HasSubstr("TLS"));
}

TEST_F(MqttTls, ComesBackAfterALoss) {
  Probe probe(Settings());
  ASSERT_TRUE(probe.UntilUp());
  ASSERT_TRUE(broker_->Restart());
  ASSERT_TRUE(probe.UntilDown());
  probe.Ahead(31);
  ASSERT_TRUE(probe.UntilUp()) << probe.Trouble();
}

}  // namespace
}  // namespace murmurate
