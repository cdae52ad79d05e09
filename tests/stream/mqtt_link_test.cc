// A link and a broker that does what brokers do.
#include "server/stream/mqtt_link.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <thread>

#include "tests/stream/broker.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

#define SKIP_WITHOUT_BROKER() \
  if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing

class MqttLinkTest : public testing::TestWithParam<MqttProtocol> {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_BROKER();
    ASSERT_TRUE(broker_.Start());
  }
  MqttSettings Settings(const std::string& filter = "", int qos = 1) const {
    MqttSettings settings = SettingsFor(broker_.address(), filter, qos);
    settings.protocol = GetParam();
    return settings;
  }
  Broker broker_;
};

TEST_P(MqttLinkTest, HandsOverWhatAnotherPublishes) {
  Probe reader(Settings("sensors/+/data", 2)), writer(Settings());
  ASSERT_TRUE(reader.UntilUp());
  ASSERT_TRUE(writer.UntilUp());
  for (int qos = 0; qos <= 2; ++qos) {
    reader.got.clear();
    const std::string payload = "{\"temp\": 2" + std::to_string(qos) + ".5}";
    ASSERT_EQ(writer.link->Publish("sensors/a/data", payload, qos), PublishOutcome::kAccepted);
    ASSERT_TRUE(DriveUntil(
        kPatience, [&] { return !reader.got.empty(); },
        [&] {
          writer.link->PollOnce(0);
          reader.link->PollOnce(2);
        }));
    EXPECT_THAT(reader.got, ElementsAre(Probe::Got{"sensors/a/data", payload, qos, false}));
  }
  EXPECT_EQ(reader.link->counters().received, 3u);
  EXPECT_EQ(reader.link->counters().received_bytes, 3u * (14 + 14));
  EXPECT_EQ(writer.link->counters().published, 3u);
  EXPECT_EQ(writer.link->counters().published_bytes, 3u * (14 + 14));
  EXPECT_EQ(reader.link->counters().connects, 1u);
  EXPECT_THAT(
      reader.states,
      ElementsAre(std::pair(true, "broker " + reader.link->address().ToString() + ": connected")));
}

TEST_P(MqttLinkTest, HandsOverEmptyAndBinaryPayloads) {
  Probe reader(Settings("x/#", 0)), writer(Settings());
  ASSERT_TRUE(reader.UntilUp());
  ASSERT_TRUE(writer.UntilUp());
  const std::string bytes("\0\xff\x01\n", 4);
  EXPECT_EQ(writer.link->Publish("x/a", ""), PublishOutcome::kAccepted);
  EXPECT_EQ(writer.link->Publish("x/b", bytes), PublishOutcome::kAccepted);
  writer.link->PollOnce(0);
  ASSERT_TRUE(reader.UntilGot(2));
  EXPECT_EQ(reader.got[0].payload, "");
  EXPECT_EQ(reader.got[1].payload, bytes);
}

TEST_P(MqttLinkTest, SaysWhatIsRetained) {
  {
    Probe writer(Settings());
    ASSERT_TRUE(writer.UntilUp());
    EXPECT_EQ(writer.link->Publish("room/1", "old", 1, true), PublishOutcome::kAccepted);
  }  // the goodbye comes behind the message
  Probe reader(Settings("room/+"));
  ASSERT_TRUE(reader.UntilGot(1));
  EXPECT_THAT(reader.got, ElementsAre(Probe::Got{"room/1", "old", 1, true}));
}

TEST_P(MqttLinkTest, KeepsEverySubscriptionAndItsQos) {
  MqttSettings settings = Settings("a/+", 0);
  settings.subscriptions.push_back({"b/+", 2});
  Probe reader(settings), writer(Settings());
  ASSERT_TRUE(reader.UntilUp());
  ASSERT_TRUE(writer.UntilUp());
  (void)writer.link->Publish("a/1", "1", 2);
  (void)writer.link->Publish("b/1", "1", 1);
  ASSERT_TRUE(DriveUntil(
      kPatience, [&] { return reader.got.size() == 2; },
      [&] {
        writer.link->PollOnce(0);
        reader.link->PollOnce(2);
      }));
  EXPECT_THAT(reader.got, testing::UnorderedElementsAre(Probe::Got{"a/1", "1", 0, false},
                                                        Probe::Got{"b/1", "1", 1, false}));
}

TEST_P(MqttLinkTest, AnswersFromWithinTheCallback) {
  Probe echo(Settings("question", 1)), asker(Settings("answer", 1));
  echo.on_message = [&](const MqttMessage& message) {
    (void)echo.link->Publish("answer", message.payload, 1);
  };
  ASSERT_TRUE(echo.UntilUp());
  ASSERT_TRUE(asker.UntilUp());
  for (int i = 0; i < 300; ++i) (void)asker.link->Publish("question", std::to_string(i), 1);
  ASSERT_TRUE(DriveUntil(
      kPatience, [&] { return asker.got.size() == 300; },
      [&] {
        asker.link->PollOnce(1);
        echo.link->PollOnce(1);
      }));
  for (int i = 0; i < 300; ++i) EXPECT_EQ(asker.got[i].payload, std::to_string(i));
}

/// A child that connects, says so, and then does nothing any more.
pid_t StartClient(const MqttSettings& settings, int* read_end) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t pid = fork();
  if (pid == 0) {
    Probe probe(settings);
    const char up = probe.UntilUp() ? '1' : '0';
    if (write(ends[1], &up, 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ends[1]);
  *read_end = ends[0];
  return pid;
}

TEST_P(MqttLinkTest, LeavesItsWillWhenItsProcessIsKilled) {
  Probe heir(Settings("wills/+", 2));
  ASSERT_TRUE(heir.UntilUp());
  MqttSettings settings = Settings();
  settings.will = {"wills/child", "gone", 2, false};
  int read_end = -1;
  const pid_t child = StartClient(settings, &read_end);
  char up = 0;
  EXPECT_EQ(read(read_end, &up, 1), 1);
  EXPECT_EQ(up, '1');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(read_end);
  ASSERT_TRUE(heir.UntilGot(1));
  EXPECT_THAT(heir.got, ElementsAre(Probe::Got{"wills/child", "gone", 2, false}));
}

TEST_P(MqttLinkTest, LeavesItsWillWhenItsSocketDiesAndNoneAfterAGoodbye) {
  Probe heir(Settings("wills/+"));
  ASSERT_TRUE(heir.UntilUp());
  MqttSettings settings = Settings();
  settings.will = {"wills/link", "gone", 1, true};
  {
    Probe link(settings);
    ASSERT_TRUE(link.UntilUp());
  }
  settings.will->payload = "broken";
  const MqttConnection::OnMessage nothing = [](const MqttMessage&) {};
  const MqttAddress address = *ParseMqttAddress(settings.broker);
  auto connection = MqttConnection::Start(settings, address, "abrupt", nothing);
  ASSERT_TRUE(connection.ok()) << connection.status();
  ASSERT_TRUE(DriveUntil(
      kPatience, [&] { return (*connection)->ready(); },
      [&] { EXPECT_TRUE((*connection)->Turn(POLLIN | POLLOUT).ok()); }));
  connection->reset();
  ASSERT_TRUE(heir.UntilGot(1));
  EXPECT_THAT(heir.got, ElementsAre(Probe::Got{"wills/link", "broken", 1, false}));
}

TEST_P(MqttLinkTest, ComesBackToABrokerThatWasKilledAndSubscribesAgain) {
  Probe reader(Settings("sensors/+/data"));
  ASSERT_TRUE(reader.UntilUp());
  EXPECT_EQ(reader.link->down_since_ns(), MqttLink::kUp);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    broker_.Kill();
    const std::int64_t killed = MonotonicNs();
    ASSERT_TRUE(reader.UntilDown());
    EXPECT_GE(reader.link->down_since_ns() - reader.ahead_ns, killed);
    EXPECT_EQ(reader.link->Publish("a", "b"), PublishOutcome::kDown);
    ASSERT_TRUE(broker_.Start());
    reader.Ahead(31);  // the longest wait is 30 s
    ASSERT_TRUE(reader.UntilUp()) << reader.Trouble();
    Probe writer(Settings());
    ASSERT_TRUE(writer.UntilUp());
    (void)writer.link->Publish("sensors/a/data", "again", 1);
    writer.link->PollOnce(0);
    ASSERT_TRUE(reader.UntilGot(round));
    EXPECT_EQ(reader.link->counters().connects, round + 1);
    EXPECT_EQ(reader.link->counters().losses, round);
    EXPECT_EQ(reader.link->counters().refused_down, round);
  }
}

TEST_P(MqttLinkTest, TriesAtOnceAfterTheFirstLoss) {
  Probe reader(Settings("a"));
  ASSERT_TRUE(reader.UntilUp());
  reader.Ahead(11);
  reader.link->PollOnce(0);
  ASSERT_TRUE(broker_.Restart());  // ready before the loss is noticed
  ASSERT_TRUE(reader.UntilDown());
  ASSERT_TRUE(reader.UntilUp());  // and the clock was not set ahead
  EXPECT_EQ(reader.link->counters().failed_attempts, 0u);
}

TEST_P(MqttLinkTest, SaysWhyABrokerThatIsStoppedWentAway) {
  Probe reader(Settings("a"));
  ASSERT_TRUE(reader.UntilUp());
  broker_.Stop();
  ASSERT_TRUE(reader.UntilDown());
  ASSERT_EQ(reader.states.size(), 2u);
  EXPECT_FALSE(reader.states[1].first);
  const bool five = GetParam() == MqttProtocol::k5;
  EXPECT_THAT(reader.Trouble(), HasSubstr(five ? "it ended the connection: Server shutting down"
                                               : "it closed the connection"));
}

TEST_P(MqttLinkTest, FindsABrokerThatComesLater) {
  broker_.Kill();
  Probe reader(Settings("a"));
  ASSERT_TRUE(reader.Until([&] { return reader.link->counters().failed_attempts == 2; }));
  EXPECT_FALSE(reader.link->up());
  EXPECT_EQ(reader.states.size(), 1u) << "the same reason is said once";
  EXPECT_THAT(reader.Trouble(), HasSubstr("Connection refused; start it, or correct the address"));
  ASSERT_TRUE(broker_.Start());
  reader.Ahead(31);
  ASSERT_TRUE(reader.UntilUp());
  EXPECT_EQ(reader.link->counters().losses, 0u);
}

TEST_P(MqttLinkTest, YieldsToAnotherOfItsNameButNotWithoutRest) {
  MqttSettings settings = Settings("a");
  settings.client_id = "the-one";
  Probe first(settings), second(settings);
  ASSERT_TRUE(first.UntilUp());
  ASSERT_TRUE(second.UntilUp());
  ASSERT_TRUE(first.UntilDown());
  const auto both = [&] {
    first.link->PollOnce(1);
    second.link->PollOnce(1);
  };
  // Each returns at once one time; then they wait a second or more of a clock that stands still.
  const std::int64_t end = MonotonicNs() + kNanosecondsPerSecond / 2;
  DriveUntil(
      kPatience, [&] { return MonotonicNs() > end; }, both);
  EXPECT_LE(first.link->counters().connects + second.link->counters().connects, 4u);
}

TEST_P(MqttLinkTest, KeepsItsHandsOffWhatIsTooLarge) {
  MqttSettings settings = Settings("big/+", 1);
  settings.maximum_message_bytes = 1000;
  Probe reader(settings), writer(Settings());
  ASSERT_TRUE(reader.UntilUp());
  ASSERT_TRUE(writer.UntilUp());
  (void)writer.link->Publish("big/a", std::string(100'000, 'x'), 1);
  (void)writer.link->Publish("big/b", "small", 1);
  writer.link->PollOnce(0);
  ASSERT_TRUE(reader.UntilGot(1));
  EXPECT_EQ(reader.got[0].topic, "big/b");
  // By MQTT 5 the broker never sends it; by 3.1.1 it is counted.
  const bool five = GetParam() == MqttProtocol::k5;
  EXPECT_EQ(reader.link->counters().oversized, five ? 0u : 1u);
  EXPECT_EQ(reader.link->counters().losses, 0u);
  EXPECT_EQ(reader.link->Publish("big/c", std::string(996, 'x')), PublishOutcome::kRefused);
  EXPECT_EQ(reader.link->Publish("big/c", std::string(995, 'x')), PublishOutcome::kAccepted);
  EXPECT_EQ(reader.link->Publish("big/+", "x"), PublishOutcome::kRefused);
  EXPECT_EQ(reader.link->Publish("", "x"), PublishOutcome::kRefused);
  EXPECT_EQ(reader.link->counters().refused, 3u);
}

TEST_P(MqttLinkTest, CountsWhatABrokerThatStandsStillLeavesNoRoomFor) {
  MqttSettings settings = Settings();
  settings.maximum_in_flight = 100;
  Probe writer(settings);
  ASSERT_TRUE(writer.UntilUp());
  kill(broker_.pid(), SIGSTOP);
  for (int i = 0; i < 150; ++i) (void)writer.link->Publish("a", "b", 1);
  writer.link->PollOnce(0);
  EXPECT_EQ(writer.link->counters().published, 100u);
  EXPECT_EQ(writer.link->counters().refused_full, 50u);
  kill(broker_.pid(), SIGCONT);
  ASSERT_TRUE(
      writer.Until([&] { return writer.link->Publish("a", "b", 1) == PublishOutcome::kAccepted; }));
  EXPECT_EQ(writer.link->counters().losses, 0u);
  broker_.Kill();
  ASSERT_TRUE(writer.UntilDown());
  EXPECT_GT(writer.link->counters().dropped, 0u);
}

TEST_P(MqttLinkTest, WaitsNoLongerThanItIsAllowedAndNotAtAllOnceWoken) {
  Probe link(Settings("a"));
  ASSERT_TRUE(link.UntilUp());
  link.link->Wake();
  const std::int64_t before = MonotonicNs();
  link.link->PollOnce(900);
  EXPECT_LT(MonotonicNs() - before, 800 * kNanosecondsPerMillisecond);
  const std::int64_t quiet = MonotonicNs();
  link.link->PollOnce(30);  // the wake was used up
  EXPECT_GE(MonotonicNs() - quiet, 29 * kNanosecondsPerMillisecond);
  std::thread waker([&] { link.link->Wake(); });
  const std::int64_t other = MonotonicNs();
  link.link->PollOnce(900);
  EXPECT_LT(MonotonicNs() - other, 800 * kNanosecondsPerMillisecond);
  waker.join();
}

TEST_P(MqttLinkTest, StartsNoThreadAndRaisesNoSignal) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  const auto before = threads();
  signal(SIGPIPE, SIG_DFL);
  Probe link(Settings("a"));
  ASSERT_TRUE(link.UntilUp());
  EXPECT_EQ(threads(), before);
  struct sigaction pipe {};
  sigaction(SIGPIPE, nullptr, &pipe);
  EXPECT_EQ(pipe.sa_handler, SIG_IGN);
  broker_.Kill();
  for (int i = 0; i < 10; ++i) {
    (void)link.link->Publish("a", "b");
    link.link->PollOnce(1);
  }
  EXPECT_FALSE(link.link->up());
}

TEST_P(MqttLinkTest, ChoosesANameOfItsOwn) {
  Probe first(Settings()), second(Settings());
  EXPECT_THAT(first.link->client_id(), testing::MatchesRegex("murmurate-[0-9a-f]{12}"));
  EXPECT_NE(first.link->client_id(), second.link->client_id());
}

INSTANTIATE_TEST_SUITE_P(, MqttLinkTest, testing::Values(MqttProtocol::k311, MqttProtocol::k5),
                         [](const auto& info) {
                           return info.param == MqttProtocol::k5 ? "Five" : "ThreeOneOne";
                         });

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
