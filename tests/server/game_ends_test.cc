// Whatever happens to a game, at whatever moment, happens to nobody else: beside each there is a
// live learner and another client that plays on. Games: tests/client/restless.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <list>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kPatience = kSanitized ? 60 : 20;
/// What mmr_close and ~Client promise.
constexpr double kLeaveS = 2;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Lets some moment come.
void Pass(double seconds) {
  Eventually(seconds, [] { return false; });
}

std::minstd_rand Seeded() {
  const char* given = std::getenv("MURMURATE_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given))
                                         : static_cast<unsigned>(std::random_device()());
  std::cout << "MURMURATE_SEED=" << seed << '\n';
  return std::minstd_rand(seed);
}

enum class Transport : std::uint8_t { kSharedMemory, kTcp };

/// A learner, and "steady", another client that plays for it all the while.
class Room {
 public:
  explicit Room(Transport transport)
      : transport_(transport),
        serve_(place_.path(), Serve()),
        steady_(place_.path(), {"actor", "cartpole", "--name", "steady", "--connect", Address()}) {
    EXPECT_TRUE(Eventually(kPatience, [&] { return StepsTrained() > 0; })) << serve_.Errors();
  }

  const std::string& Address() {
    Eventually(kPatience, [&] {
      const auto json =
          nlohmann::json::parse(place_.Read("runs/" + run_ + "/address.json"), nullptr, false);
      if (json.is_object()) address_ = json["listen"][0];
      return !address_.empty();
    });
    return address_;
  }

  std::unique_ptr<Process> Start(const std::string& language, const std::string& name,
                                 const std::string& how, unsigned seed, int rounds = 1) {
    return std::make_unique<Process>(
        place_.path(),
        std::vector<std::string>{language, Address(), name, how, std::to_string(seed),
                                 std::to_string(rounds)},
        std::vector<std::string>{MURMURATE_EXAMPLES "/../tests/client/restless"});
  }

  nlohmann::json Status() {
    return nlohmann::json::parse(RunMurmurate(place_.path(), {"status", "--json"}).output, nullptr,
                                 false);
  }
  std::uint64_t StepsTrained() {
    const nlohmann::json status = Status();
    if (!status.is_object() || status["models"].empty()) return 0;
    return status["models"][0]["steps"].get<std::uint64_t>();
  }
  /// Of all that was ever called `name`.
  std::uint64_t TrajectoriesOf(const std::string& name) {
    std::uint64_t sum = 0;
    const nlohmann::json status = Status();
    if (!status.is_object()) return 0;
    for (const auto& actor : status["actors"])
      if (actor["name"] == name) sum += actor["trajectories"].get<std::uint64_t>();
    return sum;
  }

  void ExpectEverybodyGoesOn() {
    const std::uint64_t steps = StepsTrained(), steady = TrajectoriesOf("steady");
    EXPECT_TRUE(Eventually(kPatience, [&] {
      return StepsTrained() > steps + 2000 && TrajectoriesOf("steady") > steady + 50;
    })) << Status().dump(1);
  }

  void ExpectNoHarmDone() {
    ExpectEverybodyGoesOn();
    const nlohmann::json status = Status();
    EXPECT_EQ(status["refusals"].dump(), "{}") << status.dump(1);
    for (const auto& actor : status["actors"]) EXPECT_EQ(actor["refused"], 0) << actor.dump(1);
    const std::string log = place_.Read("runs/" + run_ + "/log.txt");
    EXPECT_THAT(log, Not(HasSubstr(" error "))) << log;
    serve_.Send(SIGTERM);
    EXPECT_EQ(serve_.Wait(kPatience), 0) << serve_.Errors();
    EXPECT_EQ(steady_.Wait(kPatience), 0) << steady_.Errors();
    EXPECT_EQ(SegmentsOf(run_), 0);
    EXPECT_EQ(place_.LeftBehind(), "");
  }

  Process& learner() { return serve_; }

 private:
  std::vector<std::string> Serve() const {
    const bool shared = transport_ == Transport::kSharedMemory;
    return {"serve",
            "--set",
            shared ? "server.listen=[\"ipc\"]" : "server.listen=[\"tcp://127.0.0.1:*\"]",
            "--set",
            shared ? "server.shm=on" : "server.shm=off",
            "--set",
            "run.name=" + run_,
            "--set",
            "algorithm.trajectory_length=16",
            "--set",
            "algorithm.batch_steps=256",
            "--set",
            "algorithm.minibatch=256",
            "--set",
            "algorithm.epochs=1",
            "--set",
            "model.layers=[128,128]"};
  }

  const Transport transport_;
  const std::string run_ = UniqueRun();
  std::string address_;
  Workplace place_;
  Process serve_, steady_;
};

/// Of the last line of a game that plays.
std::uint64_t NumberOf(const Process& game, const std::string& word) {
  const std::string output = game.Output();
  const std::size_t end = output.rfind('\n');
  if (end == std::string::npos) return 0;
  const std::size_t at = output.rfind(word + ' ', end);
  return at == std::string::npos ? 0 : std::stoull(output.substr(at + word.size() + 1));
}

double LongestLeave(const Process& game) {
  const std::string output = game.Output(), words = "left within ";
  const std::size_t at = output.find(words);
  return at == std::string::npos ? 1000 : std::stod(output.substr(at + words.size()));
}

struct Kind {
  std::string language;
  Transport transport;
};
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.language
       << (kind.transport == Transport::kTcp ? " over tcp" : " with shared memory");
}

class AGame : public ::testing::TestWithParam<Kind> {
 protected:
  AGame() : room(GetParam().transport) {}
  std::unique_ptr<Process> Start(const std::string& name, const std::string& how, int rounds = 1) {
    return room.Start(GetParam().language, name, how, static_cast<unsigned>(random()), rounds);
  }
  int Random(int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  std::minstd_rand random = Seeded();
  Room room;
};

TEST_P(AGame, KilledOrSuspendedAtAnyMomentHarmsNobody) {
  int kills = 0, suspends = 0;
  for (const double until = Now() + 2; Now() < until; ++kills) {
    const auto game = Start("victim", "play");
    for (int i = Random(3); i > 0; --i, ++suspends) {
      Pass(Random(60) * 1e-3);
      game->Send(SIGSTOP);
      Pass(Random(60) * 1e-3);
      game->Send(SIGCONT);
    }
    Pass(Random(100) * 1e-3);
    game->Send(SIGKILL);
    EXPECT_EQ(game->Wait(5), 128 + SIGKILL);
  }
  std::cout << kills << " kills, " << suspends << " suspends\n";
  room.ExpectNoHarmDone();
}

TEST_P(AGame, ThatExitsWithoutAWordEndsAtOnce) {
  double longest_s = 0;
  int exits = 0;
  for (const double until = Now() + 2; Now() < until; ++exits) {
    const auto game = Start("exits", "exit");
    const double begun = Now();
    EXPECT_EQ(game->Wait(kPatience), 0) << game->Errors();
    longest_s = std::max(longest_s, Now() - begun);
  }
  EXPECT_LT(longest_s, kLeaveS + (kSanitized ? 3 : 1)) << "it plays for 0.15 s at most";
  std::cout << exits << " exits, within " << longest_s << " s\n";
  room.ExpectNoHarmDone();
}

TEST_P(AGame, ForkedAtAnyMomentPlaysOnAndItsChildrenLeaveQuietly) {
  constexpr int kForks = 60;
  const auto game = Start("forks", "fork", kForks);
  EXPECT_EQ(game->Wait(2 * kPatience), 0) << game->Errors() << " see Child in restless/main.cc";
  EXPECT_LT(LongestLeave(*game), kLeaveS);
  std::cout << kForks << " forks, " << game->Output();
  room.ExpectNoHarmDone();
}

TEST_P(AGame, UnloadedAtAnyMomentLeavesInTime) {
  constexpr int kUnloads = 40;
  const auto game = Start("unloads", "unload", kUnloads);
  EXPECT_EQ(game->Wait(2 * kPatience), 0) << game->Errors() << " see Unload in restless/main.cc";
  EXPECT_LT(LongestLeave(*game), kLeaveS);
  std::cout << kUnloads << " unloads, " << game->Output();
  room.ExpectNoHarmDone();
}

TEST_P(AGame, LeavesInTimeFromALearnerThatIsKilledOrSuspendedMeanwhile) {
  constexpr int kUnloads = 60;
  const auto game = Start("leaves", "unload", kUnloads);
  Pass(0.3 + Random(300) * 1e-3);
  for (int i = 0; i < 3; ++i) {
    room.learner().Send(SIGSTOP);
    Pass(Random(300) * 1e-3);
    room.learner().Send(SIGCONT);
    Pass(Random(100) * 1e-3);
  }
  room.learner().Send(Random(2) == 0 ? SIGKILL : SIGTERM);
  EXPECT_EQ(game->Wait(2 * kPatience), 0) << game->Errors() << " see Unload in restless/main.cc";
  EXPECT_LT(LongestLeave(*game), kLeaveS);
  std::cout << kUnloads << " unloads, " << game->Output();
}

INSTANTIATE_TEST_SUITE_P(Of, AGame,
                         ::testing::Values(Kind{"c", Transport::kSharedMemory},
                                           Kind{"c", Transport::kTcp},
                                           Kind{"cpp", Transport::kSharedMemory},
                                           Kind{"cpp", Transport::kTcp}),
                         [](const auto& test) {
                           const std::string transport =
                               test.param.transport == Transport::kTcp ? "Tcp" : "SharedMemory";
                           return test.param.language + "Over" + transport;
                         });

/// A game that is stopped for `length_s`, once it has begun.
class Sleeper {
 public:
  Sleeper(Room* room, const std::string& language, double length_s, double after_s)
      : room_(*room),
        name_(language + "-" + std::to_string(static_cast<int>(length_s))),
        game_(room->Start(language, name_, "play", 1)),
        length_s_(length_s),
        stop_at_(Now() + after_s) {}

  /// True when it is awake again.
  bool SleptEnough() {
    if (!stopped_) {
      if (Now() < stop_at_ || NumberOf(*game_, "sent") == 0) return false;
      game_->Send(SIGSTOP), stopped_ = true;
      wake_at_ = Now() + length_s_;
    }
    if (awake_ || Now() < wake_at_) return awake_;
    sent_ = NumberOf(*game_, "sent");
    steps_ = NumberOf(*game_, "steps");
    version_ = NumberOf(*game_, "version");
    game_->Send(SIGCONT);
    return awake_ = true;
  }
  void ExpectThatItIsBack() {
    const std::uint64_t heard = room_.TrajectoriesOf(name_);
    EXPECT_TRUE(Eventually(kPatience,
                           [&] {
                             return NumberOf(*game_, "steps") > steps_ &&
                                    NumberOf(*game_, "sent") > sent_ + 2 &&
                                    NumberOf(*game_, "version") > version_ + 2 &&
                                    room_.TrajectoriesOf(name_) > heard;
                           }))
        << name_ << room_.Status().dump(1);
    game_->Send(SIGKILL);
    game_->Wait(5);
  }

 private:
  Room& room_;
  const std::string name_;
  const std::unique_ptr<Process> game_;
  const double length_s_, stop_at_;
  double wake_at_ = 0;
  std::uint64_t sent_ = 0, steps_ = 0, version_ = 0;
  bool stopped_ = false, awake_ = false;
};

/// 3.5 s: the learner gives its share to others. 11 s: longer than a session is kept without a
/// word. 31 s: the learner has forgotten it.
TEST(Games, SuspendedForLongerThanTheirSessionsAreBackInThem) {
  std::minstd_rand random = Seeded();
  Room shared(Transport::kSharedMemory), tcp(Transport::kTcp);
  std::vector<double> lengths{3.5, 11};
  if (std::getenv("MURMURATE_LONG") != nullptr) lengths.push_back(31);
  std::list<Sleeper> sleepers;
  for (Room* room : {&shared, &tcp}) {
    for (const std::string language : {"c", "cpp"}) {
      for (const double length_s : lengths)
        sleepers.emplace_back(room, language, length_s,
                              0.5 + static_cast<double>(random() % 500) * 1e-3);
    }
  }
  EXPECT_TRUE(Eventually(lengths.back() + kPatience, [&] {
    bool all = true;
    for (Sleeper& one : sleepers) all &= one.SleptEnough();
    return all;
  }));
  for (Sleeper& one : sleepers) one.ExpectThatItIsBack();
  shared.ExpectNoHarmDone();
  tcp.ExpectNoHarmDone();
}

}  // namespace
}  // namespace murmurate
