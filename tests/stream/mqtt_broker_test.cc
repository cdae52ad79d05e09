// Links and brokers of a particular kind: where one protocol or one setting is enough.
#include <gmock/gmock.h>

#include "server/stream/mqtt_link.h"
#include "tests/stream/broker.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

#define SKIP_WITHOUT_BROKER() \
  if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing

TEST(MqttLinkAlone, DoesNotHearItselfByMqtt5) {
  SKIP_WITHOUT_BROKER();
  Broker broker;
  ASSERT_TRUE(broker.Start());
  Probe link(SettingsFor(broker.address(), "#")), other(SettingsFor(broker.address()));
  ASSERT_TRUE(link.UntilUp());
  ASSERT_TRUE(other.UntilUp());
  (void)link.link->Publish("a", "own", 1);
  ASSERT_TRUE(link.Until([&] { return link.link->counters().published == 1; }));
  link.link->PollOnce(0);
  (void)other.link->Publish("a", "other's", 1);
  other.link->PollOnce(0);
  ASSERT_TRUE(link.UntilGot(1));
  EXPECT_EQ(link.got[0].payload, "other's");
}

TEST(MqttLinkUsers, AreRefusedInOneSentenceWithoutThePassword) {
  SKIP_WITHOUT_BROKER();
  Broker::Options options;
  options.user = "ann";
  options.password = "hunter2";
  Broker broker(options);
  ASSERT_TRUE(broker.Start());
  for (const MqttProtocol protocol : {MqttProtocol::k311, MqttProtocol::k5}) {
    MqttSettings settings = SettingsFor(broker.address(), "a");
    settings.protocol = protocol;
    settings.user = "ann";
    settings.password = "hunter2";
    Probe right(settings);
    EXPECT_TRUE(right.UntilUp()) << right.Trouble();
    settings.password = "hunter3";
    Probe wrong(settings);
    ASSERT_TRUE(wrong.Until([&] { return wrong.link->counters().failed_attempts == 2; }));
    ASSERT_EQ(wrong.states.size(), 1u);
    EXPECT_THAT(wrong.Trouble(), HasSubstr("correct the password of user 'ann'"));
    EXPECT_THAT(wrong.Trouble(), testing::Not(HasSubstr("hunter")));
    settings.user = settings.password = "";
    Probe nobody(settings);
    ASSERT_TRUE(nobody.Until([&] { return !nobody.states.empty(); }));
    EXPECT_THAT(nobody.Trouble(), HasSubstr("set a user and a password"));
  }
}

}  // namespace
}  // namespace murmurate
