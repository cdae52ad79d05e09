// What a newcomer is told, by real programs: a game that is played wrongly says so itself, once,
// and the learner's status names the actor, the agent and the reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <utility>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

#define PROGRAMS MURMURATE_EXAMPLES "/../tests/client/"
constexpr const char* kInCpp = PROGRAMS "wrong_game";
constexpr const char* kInC = PROGRAMS "wrong_game_c";

int CountOf(const std::string& text, const std::string& what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// A learner, and where games find it.
struct Room {
  explicit Room(std::vector<std::string> more = {})
      : address("ipc://" + place.path() + "/main"),
        serve(place.path(), Arguments(std::move(more))) {
    EXPECT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  }
  ~Room() {
    serve.Send(SIGTERM);
    EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
  }
  std::vector<std::string> Arguments(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"serve",
                                       "--listen",
                                       address,
                                       "--set",
                                       "algorithm.trajectory_length=8",
                                       "--set",
                                       "algorithm.batch_steps=64",
                                       "--set",
                                       "algorithm.minibatch=64",
                                       "--set",
                                       "model.layers=[8]"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string Status() const { return RunMurmurate(place.path(), {"status"}).output; }
  bool StatusSays(const std::string& what) const {
    return Eventually(20, [&] { return Status().find(what) != std::string::npos; });
  }
  Workplace place;
  const std::string address;
  Process serve;
};

struct Mistake {
  const char* way;
  const char* words;  ///< of the game and of status
  const char* agent;  ///< of whom
};

class FirstWords : public testing::TestWithParam<const char*> {};

TEST_P(FirstWords, AGameThatIsPlayedWronglySaysItOnceAndStatusNamesTheAgent) {
  Room room;
  for (const Mistake& mistake :
       {Mistake{"nan", "observation has a number that is not finite at place 2: correct the game",
                "agent 0 of model default: "},
        Mistake{"no-end", "no episode has ended in its first 10000 steps: call End",
                "agent 0 of model default: "}}) {
    Process game(room.place.path(), {room.address, mistake.way, mistake.way}, {GetParam()});
    const std::string words = mistake.agent + std::string(mistake.words);
    EXPECT_TRUE(room.StatusSays("  " + words)) << mistake.way << '\n' << room.Status();
    EXPECT_THAT(room.Status(), HasSubstr("actor " + std::string(mistake.way) + ": live"));
    EXPECT_TRUE(room.serve.Says("actor " + std::string(mistake.way) + ", " + words));
    EXPECT_TRUE(game.Says("murmurate: " + words)) << game.Errors();
    game.Send(SIGKILL);
    EXPECT_EQ(game.Wait(20), 128 + SIGKILL);
    EXPECT_EQ(CountOf(game.Errors(), mistake.words), 1) << game.Errors();
    EXPECT_THAT(game.Output(), IsEmpty());
  }
}

TEST_P(FirstWords, AGameThatIsRefusedSaysWhyOnceAndStatusNamesIt) {
  Room room;
  Process first(room.place.path(), {room.address, "first", "right"}, {GetParam()});
  ASSERT_TRUE(room.StatusSays("actor first: live"));
  Process game(room.place.path(), {room.address, "other", "wide"}, {GetParam()});
  EXPECT_TRUE(room.StatusSays("actor other is refused: ")) << room.Status();
  EXPECT_TRUE(game.Says("murmurate: refused by the learner at " + room.address + ": "))
      << game.Errors();
  for (Process* process : {&first, &game}) {
    process->Send(SIGKILL);
    EXPECT_EQ(process->Wait(20), 128 + SIGKILL);
  }
  EXPECT_EQ(CountOf(game.Errors(), "refused"), 1) << game.Errors();
  EXPECT_THAT(first.Errors(), Not(HasSubstr("refused")));
}

TEST_P(FirstWords, AGameThatIsTooFastForItsLearnerIsToldOfThePace) {
  Room room({"--set", "algorithm.epochs=200"});
  Process game(room.place.path(), {room.address, "fast", "fast"}, {GetParam()});
  const std::string words = " % of the steps are never sent: the game plays faster";
  EXPECT_TRUE(room.StatusSays(words)) << room.Status();
  EXPECT_TRUE(game.Says(words)) << game.Errors();
  game.Send(SIGKILL);
  EXPECT_EQ(game.Wait(20), 128 + SIGKILL);
  EXPECT_EQ(CountOf(game.Errors(), words), 1) << game.Errors();
  EXPECT_THAT(game.Errors(), HasSubstr("murmurate: model default: "));
}

TEST_P(FirstWords, AGameThatListensOrWantsQuietHasNothingOnItsStderr) {
  Room room;
  Process quiet(room.place.path(), {room.address, "quiet", "nan", "quiet"}, {GetParam()});
  Process listens(room.place.path(), {room.address, "listens", "nan", "log"}, {GetParam()});
  EXPECT_TRUE(room.StatusSays("actor quiet: live"));
  EXPECT_TRUE(Eventually(20, [&] { return CountOf(room.Status(), "is not finite") == 2; }))
      << room.Status();
  EXPECT_TRUE(listens.Says("agent 0 of model default: observation has a number"));
  for (Process* process : {&quiet, &listens}) {
    process->Send(SIGKILL);
    EXPECT_EQ(process->Wait(20), 128 + SIGKILL);
    EXPECT_THAT(process->Errors(), IsEmpty());
  }
  EXPECT_EQ(CountOf(listens.Output(), "is not finite"), 1) << listens.Output();
}

INSTANTIATE_TEST_SUITE_P(Games, FirstWords, testing::Values(kInCpp, kInC),
                         [](const auto& game) { return game.index == 0 ? "Cpp" : "C"; });

TEST(Misuse, NamesTheCallWhatItExpectedAndGotAndWhoseMistakeItIs) {
  const Workplace place;
  const std::pair<const char*, const char*> mistakes[] = {
      {"five",
       "murmurate: Agent::Act: an observation of 5 numbers, but the space has 4. The mistake "
       "is in the program that makes this call, and the program ends here.\n"},
      {"end", "murmurate: Agent::End: End(kTruncated) needs the final observation"}};
  for (const auto& [way, words] : mistakes) {
    Process game(place.path(), {"ipc://" + place.path() + "/nowhere", way, way}, {kInCpp});
    EXPECT_EQ(game.Wait(20), 128 + SIGABRT);
    EXPECT_THAT(game.Errors(), HasSubstr(words));
    EXPECT_THAT(game.Errors(), Not(HasSubstr("bug")));
  }
}

/// Killed in the middle, and gone on with while its games live.
TEST(Resuming, IsNothingToBeAfraidOf) {
  const Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  const std::vector<std::string> arguments{"serve",    "--resume",
                                           "--listen", address,
                                           "--set",    "checkpoint.every_s=0.2",
                                           "--set",    "algorithm.trajectory_length=8",
                                           "--set",    "algorithm.batch_steps=256"};
  std::vector<std::unique_ptr<Process>> games;
  for (const char* name : {"a", "b"})
    games.push_back(std::make_unique<Process>(place.path(),
                                              std::vector<std::string>{address, name, "fast"},
                                              std::vector<std::string>{kInCpp}));
  games.push_back(std::make_unique<Process>(
      place.path(),
      std::vector<std::string>{"actor", "cartpole", "--connect", address, "--agents", "4"}));
  std::string said;
  for (int life = 0; life < 2; ++life) {
    Process serve(place.path(), arguments);
    for (const char* name : {"a", "b", "actor"})
      EXPECT_TRUE(serve.Says("actor " + std::string(name) + " joined")) << serve.Errors();
    EXPECT_TRUE(Eventually(20, [&] {
      return RunMurmurate(place.path(), {"status"}).output.find("last good checkpoint: step") !=
             std::string::npos;
    }));
    serve.Send(life == 1 ? SIGTERM : SIGKILL);
    EXPECT_NE(serve.Wait(20), -1);
    said += serve.Output() + serve.Errors();
  }
  for (const auto& game : games) {
    game->Send(SIGKILL);
    EXPECT_NE(game->Wait(20), -1);
    said += game->Output() + game->Errors();
  }
  EXPECT_THAT(said, Not(HasSubstr("no session")));
  EXPECT_THAT(said, Not(HasSubstr("stranger")));
  EXPECT_THAT(said, Not(HasSubstr("without a name")));
  EXPECT_THAT(said, Not(HasSubstr("refused")));
}

/// Several places, and a name where ZeroMQ wants a number.
TEST(Listening, SaysListenForEachPlaceAndKnowsLocalhost) {
  const Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(), {"serve", "--listen", "tcp://localhost:*", "--listen", address});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  const std::string output = serve.Output();
  const std::size_t at = output.find("tcp://127.0.0.1:");
  ASSERT_NE(at, output.npos) << output;
  EXPECT_THAT(output, HasSubstr(" and " + address));
  const std::string port = output.substr(at + 16, output.find(' ', at) - at - 16);
  Process near(place.path(), {"tcp://localhost:" + port, "near", "right"}, {kInCpp});
  Process far(place.path(),
              {"actor", "cartpole", "--connect", address, "--name", "far", "--model", "m"});
  EXPECT_TRUE(serve.Says("actor near joined")) << serve.Errors();
  EXPECT_TRUE(serve.Says("actor far joined")) << serve.Errors();
  for (Process* process : {&near, &far, &serve}) process->Send(SIGTERM);
  EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
}

TEST(Resuming, ASecondServeSaysHowToGoOn) {
  const Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  for (const bool second : {false, true}) {
    std::vector<std::string> arguments{"serve", "--listen", address};
    if (second) {
      const Ran refused = RunMurmurate(place.path(), arguments);
      EXPECT_EQ(refused.code, 2);
      EXPECT_THAT(refused.errors, HasSubstr("runs/serve: holds an earlier run; go on with it with "
                                            "`murmurate serve --resume` (or `murmurate resume "));
      arguments.push_back("--resume");
    }
    Process serve(place.path(), arguments);
    Process actor(place.path(), {"actor", "cartpole", "--connect", address});
    EXPECT_TRUE(Eventually(20, [&] {
      const std::string status = RunMurmurate(place.path(), {"status"}).output;
      return status.find(", version ") != status.npos && status.find(", version 0,") == status.npos;
    }));
    serve.Send(SIGTERM);
    EXPECT_EQ(serve.Wait(20), 0) << serve.Errors();
    actor.Send(SIGTERM);
    EXPECT_NE(actor.Wait(20), -1);
    EXPECT_FALSE(place.Has("runs/serve.1"));
  }
}

}  // namespace
}  // namespace murmurate
