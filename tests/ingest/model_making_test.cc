// Models are made apart from the thread that receives: what goes on meanwhile, and who is answered.
#include <gmock/gmock.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/ingest/stage.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

Shipment Ordinary(float base) {
  return MakeShipment(TrajectoryLayout(StageSpaces(), kStageLength), kStageLength, base);
}

/// Says HELLO once the connection stands.
void Ask(Stage& stage, StageActor& actor,
         const std::vector<std::pair<std::string, Spaces>>& models) {
  ASSERT_TRUE(stage.Until(actor, [&] { return actor.SayHello(models); }));
}

/// Holds the making of model "slow" until it is opened.
struct Barrier {
  std::mutex mutex;
  std::condition_variable opened;
  bool open = false, reached = false;

  void Pass(const std::string& model) {
    if (model != "slow") return;
    std::unique_lock lock(mutex);
    reached = true;
    opened.wait(lock, [this] { return open; });
  }
  bool Reached() {
    const std::lock_guard lock(mutex);
    return reached;
  }
  void Open() {
    {
      const std::lock_guard lock(mutex);
      open = true;
    }
    opened.notify_all();
  }
};

TEST(ModelMaking, OtherSessionsGoOnWhileAModelIsMade) {
  Barrier barrier;
  Stage stage({.models_apart = true, .on_making = [&](const auto& name) { barrier.Pass(name); }});
  std::atomic<bool> stop{false};
  std::thread making([&] {
    while (!stop) stage.ingest->MakeModels(10);
  });
  auto plays = stage.NewLiveActor(1);
  auto waits = stage.NewActor(2);
  Ask(stage, *waits, {{"slow", StageSpaces()}});
  EXPECT_TRUE(stage.UntilAll({plays.get(), waits.get()}, [&] { return barrier.Reached(); }));
  plays->Ship(Ordinary(1));
  EXPECT_TRUE(stage.Until(*plays, [&] { return plays->accepted.sequence == 1; }));
  EXPECT_FALSE(waits->welcome.has_value());
  barrier.Open();
  // It does not say HELLO again.
  EXPECT_TRUE(stage.Until(*waits, [&] { return waits->welcome.has_value(); }));
  EXPECT_EQ(waits->welcome->models.at(0).name, "slow");
  stop = true;
  stage.ingest->StopMaking();
  making.join();
}

TEST(ModelMaking, EveryWaitingActorIsToldThatTheModelCouldNotBeMade) {
  std::vector<std::string> lines;
  Stage stage({.log = [&](LogLevel, std::string_view line) { lines.emplace_back(line); },
               .models_apart = true});
  auto first = stage.NewActor(1, "one"), second = stage.NewActor(2, "two");
  for (int i = 0; i < 20; ++i) {  // faster than a model is made
    Ask(stage, *first, {{"forbidden", StageSpaces()}});
    Ask(stage, *second, {{"forbidden", StageSpaces()}});
  }
  EXPECT_TRUE(stage.UntilAll({first.get(), second.get()}, [&] {
    stage.ingest->MakeModels(0);
    return !first->errors.empty() && !second->errors.empty();
  }));
  EXPECT_THAT(first->errors.at(0).sentence, HasSubstr("model forbidden is not for you"));
  EXPECT_THAT(second->errors.at(0).sentence, HasSubstr("model forbidden is not for you"));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("actor one was refused")));
  EXPECT_THAT(lines, ::testing::Contains(HasSubstr("actor two was refused")));
}

TEST(ModelMaking, TwoModelsOfOneHelloAreMadeInItsOrder) {
  std::vector<std::string> made;
  Stage stage(
      {.models_apart = true, .on_making = [&](const std::string& name) { made.push_back(name); }});
  auto actor = stage.NewActor(1);
  Ask(stage, *actor, {{"npc", StageSpaces()}, {"boss", StageSpaces()}});
  EXPECT_TRUE(stage.Until(*actor, [&] {
    stage.ingest->MakeModels(0);
    return actor->welcome.has_value();
  }));
  EXPECT_THAT(made, ::testing::ElementsAre("npc", "boss"));
  EXPECT_EQ(actor->welcome->models.at(1).name, "boss");
}

TEST(ModelMaking, OfTwoGamesOfOneNameTheSecondIsToldWhatDiffers) {
  Stage stage({.models_apart = true});
  auto first = stage.NewActor(1), second = stage.NewActor(2);
  Ask(stage, *first, {{"npc", StageSpaces()}});
  EXPECT_TRUE(stage.Until(*first, [&] { return true; }));
  Ask(stage, *second, {{"npc", {Box({3}), Discrete(2)}}});
  EXPECT_TRUE(stage.UntilAll({first.get(), second.get()}, [&] {
    stage.ingest->MakeModels(0);
    return (first->welcome || !first->errors.empty()) &&
           (second->welcome || !second->errors.empty());
  }));
  EXPECT_NE(first->welcome.has_value(), second->welcome.has_value());
}

TEST(ModelMaking, AnActorThatSaysGoodbyeMeanwhileIsNotGreeted) {
  Stage stage({.models_apart = true});
  auto leaves = stage.NewActor(1), stays = stage.NewActor(2);
  Ask(stage, *leaves, {{"npc", StageSpaces()}});
  EXPECT_EQ(leaves->Send(wire::Bye{}, 0), SendOutcome::kSent);
  Ask(stage, *stays, {{"npc", StageSpaces()}});
  // Its goodbye has come when it is told that it has no session.
  EXPECT_TRUE(stage.Until(*leaves, [&] { return !leaves->errors.empty(); }));
  EXPECT_TRUE(stage.UntilAll({leaves.get(), stays.get()}, [&] {
    stage.ingest->MakeModels(0);
    return stays->welcome.has_value();
  }));
  EXPECT_FALSE(leaves->welcome.has_value());
}

}  // namespace
}  // namespace murmurate
