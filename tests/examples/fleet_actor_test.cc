// `murmurate actor sensors` and a real broker.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tests/server/process.h"
#include "tests/stream/broker.h"
#include "tests/stream/probe.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using Numbers = std::vector<std::uint64_t>;

class FleetActor : public testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
    ASSERT_TRUE(broker_.Start());
    reader_.emplace(SettingsFor(broker_.address(), "sensors/+/data"));
    ASSERT_TRUE(reader_->UntilUp());
  }

  std::vector<std::string> Command(std::vector<std::string> more) const {
    std::vector<std::string> all{"actor", "sensors", "--broker", broker_.address()};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// The sequence numbers of a device, as they came.
  Numbers NumbersOf(const std::string& device) const {
    Numbers numbers;
    for (const Probe::Got& got : reader_->got)
      if (got.topic == "sensors/" + device + "/data")
        numbers.push_back(nlohmann::json::parse(got.payload)["seq"]);
    return numbers;
  }
  bool UntilNumber(const std::string& device, std::uint64_t number) {
    return reader_->Until([&] {
      const Numbers numbers = NumbersOf(device);
      return !numbers.empty() && numbers.back() >= number;
    });
  }
  void Say(const std::string& topic, const std::string& payload) {
    ASSERT_EQ(reader_->link->Publish(topic, payload, 1), PublishOutcome::kAccepted);
  }
  void SayAndKeep(const std::string& topic, const std::string& payload) {
    ASSERT_EQ(reader_->link->Publish(topic, payload, 1, true), PublishOutcome::kAccepted);
    ASSERT_TRUE(reader_->Until([&] { return reader_->link->in_flight() == 0; }));
  }
  void Commit(const std::string& device, std::uint64_t number) {
    Say("sensors/" + device + "/committed", "{\"sequence\":" + std::to_string(number) + "}");
  }

  Workplace place_;
  Broker broker_;
  std::optional<Probe> reader_;
};

Numbers FromTo(std::uint64_t first, std::uint64_t last) {
  Numbers numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST_F(FleetActor, EachMessageArrivesOnceInOrder) {
  Process actor(place_.path(), Command({"--devices", "5", "--rate", "100", "--seconds", "1"}));
  EXPECT_TRUE(reader_->UntilGot(500));
  EXPECT_EQ(actor.Wait(20), 0) << actor.Errors();
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(NumbersOf("pump-" + std::to_string(i)), FromTo(1, 100));
  EXPECT_EQ(reader_->got.size(), 500u);
  EXPECT_THAT(actor.Output(), HasSubstr("sent 500 messages (0 again) of 5 devices in 1."));
  EXPECT_EQ(actor.Errors(), "");
}

TEST_F(FleetActor, WithoutARateAllIsTakenBeforeItEnds) {
  const Ran ran = RunMurmurate(place_.path(), Command({"--rate", "max", "--seconds", "0.2"}));
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("(0 again) of 10 devices in 0."));
}

TEST_F(FleetActor, QuietBeforeItsWordsIsPassedOn) {
  std::vector<std::string> command = Command({"--rate", "max", "--seconds", "0.2"});
  command.insert(command.begin(), "--quiet");
  const Ran ran = RunMurmurate(place_.path(), command);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_EQ(ran.output, "");
}

TEST_F(FleetActor, ATerminatedOneSaysWhatItSent) {
  Process actor(place_.path(), Command({"--devices", "1", "--rate", "50", "--seconds", "1000"}));
  EXPECT_TRUE(UntilNumber("pump-1", 3));
  actor.Send(SIGTERM);
  EXPECT_EQ(actor.Wait(20), 0);
  EXPECT_THAT(actor.Output(), HasSubstr("messages (0 again) of 1 devices in "));
}

/// What a learner commits beyond anything sent shows in the next number: so the test knows that all
/// it said before has been heard.
constexpr std::uint64_t kFar = 1'000'000;

TEST_F(FleetActor, AfterABrokersEndItSendsAgainWhatIsNotCommitted) {
  Process actor(place_.path(), Command({"--devices", "2", "--rate", "100", "--seconds", "1000",
                                        "--committed", "sensors/{device}/committed"}));
  ASSERT_TRUE(UntilNumber("pump-1", 30));
  Commit("pump-1", 20);
  Commit("pump-2", kFar);
  ASSERT_TRUE(UntilNumber("pump-2", kFar + 20));
  broker_.Kill();
  ASSERT_TRUE(actor.Says("refused")) << actor.Errors();
  ASSERT_TRUE(reader_->UntilDown());
  reader_->got.clear();
  ASSERT_TRUE(broker_.Start());
  reader_->Ahead(60);
  ASSERT_TRUE(reader_->UntilUp());
  ASSERT_TRUE(UntilNumber("pump-1", 200));
  const Numbers first = NumbersOf("pump-1"), second = NumbersOf("pump-2");
  EXPECT_EQ(first, FromTo(21, first.back()));
  EXPECT_EQ(second, FromTo(kFar + 1, second.back()));
  actor.Send(SIGTERM);
  EXPECT_EQ(actor.Wait(20), 0);
  EXPECT_THAT(actor.Output(), testing::Not(HasSubstr("(0 again)")));
}

TEST_F(FleetActor, AfterALearnersReturnItSendsAgainWhatIsNotCommitted) {
  SayAndKeep("sensors/forecaster", "online");
  Process actor(place_.path(),
                Command({"--devices", "2", "--rate", "100", "--seconds", "1000", "--committed",
                         "sensors/{device}/committed", "--status", "sensors/forecaster"}));
  ASSERT_TRUE(UntilNumber("pump-1", 30));
  Commit("pump-1", 20);
  Say("sensors/forecaster", "online");  // is no return: it was there
  Commit("pump-2", kFar);
  ASSERT_TRUE(UntilNumber("pump-2", kFar + 20));
  const std::size_t before = NumbersOf("pump-1").size();
  Say("sensors/forecaster", "offline");
  Say("sensors/forecaster", "online");
  ASSERT_TRUE(reader_->Until([&] {
    const Numbers all = NumbersOf("pump-1");
    return std::find(all.begin() + static_cast<std::ptrdiff_t>(before), all.end(), 21) != all.end();
  }));
  actor.Send(SIGTERM);
  EXPECT_EQ(actor.Wait(20), 0);
}

TEST_F(FleetActor, NothingIsSentWhileNoLearnerIsThereToTakeIt) {
  const std::vector<std::string> fleet =
      Command({"--devices", "1", "--rate", "100", "--seconds", "1000", "--committed",
               "sensors/{device}/committed", "--status", "sensors/forecaster"});
  Process actor(place_.path(), fleet);
  SayAndKeep("sensors/forecaster", "offline");
  Process ends(place_.path(),
               Command({"--devices", "1", "--seconds", "0.1", "--committed",
                        "sensors/{device}/committed", "--status", "sensors/forecaster"}));
  EXPECT_EQ(ends.Wait(20), 5);
  EXPECT_THAT(ends.Errors(), HasSubstr("0 messages were sent; the rest waits for a learner"));
  const Ran alone = RunMurmurate(place_.path(), Command({"--devices", "1", "--seconds", "0.1",
                                                         "--status", "sensors/forecaster"}));
  EXPECT_EQ(alone.code, 5) << "what is sent again is another matter";
  EXPECT_EQ(NumbersOf("pump-1"), Numbers());
  SayAndKeep("sensors/forecaster", "online");
  ASSERT_TRUE(UntilNumber("pump-1", 50));
  const Numbers numbers = NumbersOf("pump-1");
  EXPECT_EQ(numbers, FromTo(1, numbers.back()));
  actor.Send(SIGTERM);
  EXPECT_EQ(actor.Wait(20), 0);
}

TEST_F(FleetActor, WithoutABrokerItTriesUntilTheEndAndSaysWhy) {
  broker_.Kill();
  const Ran ran = RunMurmurate(place_.path(), Command({"--seconds", "0.5"}));
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.errors, HasSubstr(broker_.address().substr(7)));
  EXPECT_THAT(ran.errors, HasSubstr("0 messages were sent"));
  EXPECT_EQ(ran.output, "");
}

TEST(FleetActorArguments, AWrongOneIsASentenceWithTheRemedy) {
  const Workplace place;
  const auto said = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"actor", "sensors"});
    const Ran ran = RunMurmurate(place.path(), arguments);
    EXPECT_EQ(ran.code, 2) << ran.errors;
    return ran.errors;
  };
  EXPECT_THAT(said({"--topic", "sensors/data"}), HasSubstr("a topic with {device} in it"));
  EXPECT_THAT(said({"--committed", "sensors/#"}), HasSubstr("--committed: got \"sensors/#\""));
  EXPECT_THAT(said({"--rate", "max", "--drift-at", "3"}), HasSubstr("give --rate a number"));
  EXPECT_THAT(said({"--rate", "often"}), HasSubstr("or max"));
  EXPECT_THAT(said({"--broker", "http://localhost"}), HasSubstr("mqtt://"));
  EXPECT_THAT(said({"--connect", "tcp://127.0.0.1:7430", "--broker", "mqtt://localhost"}),
              HasSubstr("--connect excludes --broker"));
  EXPECT_THAT(said({"--connect", "tcp://127.0.0.1:7430", "--topic", "a/{device}"}),
              HasSubstr("--connect excludes --topic"));
  EXPECT_THAT(said({"--connect", "localhost"}), HasSubstr("--connect: "));
  EXPECT_EQ(RunMurmurate(place.path(), {"actor"}).code, 2);
}

TEST(FleetActorArguments, AreReadByAnotherProgramAloneItsHelpToo) {
  const Workplace place;
  const Ran help = RunMurmurate(place.path(), {"actor", "sensors", "--help"});
  EXPECT_EQ(help.code, 0) << help.errors;
  EXPECT_THAT(help.output, HasSubstr("Usage: murmurate actor sensors [OPTIONS]"));
  EXPECT_THAT(help.output, HasSubstr("--drift-at"));
  const Ran word = RunMurmurate(place.path(), {"actor", "sensors", "--topic", "serve"});
  EXPECT_EQ(word.code, 2);
  EXPECT_THAT(word.errors, HasSubstr("--topic: got \"serve\""));
}

TEST(FleetActorArguments, WithoutThatProgramASentenceSaysWhereItBelongs) {
  const Workplace place;
  std::filesystem::copy_file(MURMURATE_EXECUTABLE, place.path() + "/murmurate");
  Process alone(place.path(), {}, {"sh", "-c", "exec ./murmurate actor sensors"});
  EXPECT_EQ(alone.Wait(20), 5);
  EXPECT_THAT(alone.Errors(), HasSubstr(place.path() + "/murmurate-sensors: No such file"));
  EXPECT_THAT(alone.Errors(), HasSubstr("beside murmurate"));
}

}  // namespace
}  // namespace murmurate
