#include "server/top/top_picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "server/top/actor_rates.h"
#include "server/top/terminal_frame.h"
#include "server/top/text_columns.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Json Actor(int number, const char* health) {
  return {{"name", "actor-" + std::to_string(number)},
          {"health", health},
          {"agents", 4},
          {"steps", 180736},
          {"steps_per_s", 370.0},
          {"lag", 0.6},
          {"dropped_steps", 12},
          {"refused", 0},
          {"here_s", 200.0},
          {"silent_s", 0.5},
          {"wait", 0.25},
          {"troubles", Json::array()}};
}

TopSnapshot Hero(int actors = 3) {
  TopSnapshot snapshot;
  snapshot.status =
      Json{{"run", "hero"},
           {"directory", "/runs/hero"},
           {"pid", 71},
           {"uptime_s", 200.0},
           {"waiting", {"model npc waits for experience: 3 of 8 trajectories, none for 4.1 s"}},
           {"streams", Json::array()},
           {"actors", Json::array()},
           {"models",
            {{{"name", "npc"},
              {"steps", 61952},
              {"learned_steps", 61440},
              {"budget", 150000},
              {"mean_return", 431.25},
              {"target", 475},
              {"steps_per_second", 1523.0},
              {"eta_s", 58.0},
              {"staleness", 0.6},
              {"episodes", 812},
              {"version", 121},
              {"learner_wait", 0.06},
              {"actor_wait", 0.25}}}}};
  for (int i = 0; i < actors; ++i)
    snapshot.status["actors"].push_back(Actor(i, i == 1 ? "stalled" : "live"));
  std::vector<CurvePoint> points;
  for (int i = 0; i < 50; ++i)
    points.push_back({static_cast<std::uint64_t>(1200 * i), 20 + 8.0 * i});
  snapshot.curves = {{"return", points}};
  return snapshot;
}

std::string Text(TopSnapshot snapshot, int columns, int rows) {
  for (Json* json :
       {&snapshot.status, snapshot.shards.empty() ? nullptr : &snapshot.shards.front()})
    if (json != nullptr)
      *json = Json::parse(json->dump());  // counts as a learner's answer has them
  return PlainText(TopPicture(snapshot, {columns, rows}, Glyphs::kBraille));
}

int WidestOf(const std::vector<TopLine>& picture) {
  int widest = 0;
  for (const TopLine& line : picture) {
    int used = 0;
    for (const TopPiece& piece : line) used += ColumnsOf(piece.text);
    widest = std::max(widest, used);
  }
  return widest;
}

TEST(TopPicture, HasWhatThePageHas) {
  const std::string text = Text(Hero(), 100, 30);
  EXPECT_THAT(text,
              AllOf(HasSubstr("hero  up 3 min 20 s  2 live actors  model npc  process 71"),
                    HasSubstr("return 431.2 of 475"), HasSubstr("1523 steps/s"),
                    HasSubstr("eta 58 s"), HasSubstr("61,440 of 150,000 steps learned"),
                    HasSubstr("experience is 0.6 versions old"), HasSubstr("actors waited 25 %")));
  EXPECT_THAT(text,
              ::testing::ContainsRegex("actor-1 +stalled +370 +0.6 +12 +3 min 20 s +4 +25 %"));
  EXPECT_THAT(text,
              HasSubstr("model npc waits for experience: 3 of 8 trajectories, none for 4.1 s"));
  EXPECT_THAT(text, HasSubstr("\u2809")) << "dots of the curve";
}

TEST(TopPicture, EverySizeHasAPictureThatFits) {
  for (const int actors : {0, 3, 300})
    for (int columns = 1; columns <= 201; columns += 8)
      for (int rows = 1; rows <= 61; rows += 4) {
        TopSnapshot snapshot = Hero(actors);
        const auto picture = TopPicture(snapshot, {columns, rows}, Glyphs::kBraille);
        ASSERT_LE(picture.size(), static_cast<std::size_t>(rows)) << columns << 'x' << rows;
        ASSERT_LE(WidestOf(picture), columns) << columns << 'x' << rows;
      }
}

TEST(TopPicture, ASmallTerminalHasTheHeadTheReturnACurveAnActorAndWhoWaits) {
  const std::string text = Text(Hero(), 40, 12);
  EXPECT_THAT(text,
              AllOf(::testing::StartsWith("hero"), HasSubstr("return 431.2"), HasSubstr("steps\n"),
                    HasSubstr("actor-0"), HasSubstr("waits for experience")));
  EXPECT_LE(std::ranges::count(text, '\n'), 12);
}

TEST(TopPicture, ALargeTerminalIsFilledByTheCurveAndShowsEveryActor) {
  const std::string text = Text(Hero(20), 200, 60);
  EXPECT_EQ(std::ranges::count(text, '\n'), 60);
  EXPECT_THAT(text, HasSubstr("actor-19"));
}

TEST(TopPicture, ActorsThatDoNotFitAreCounted) {
  const std::string text = Text(Hero(300), 80, 24);
  EXPECT_THAT(text, AllOf(HasSubstr("actor-0 "), Not(HasSubstr("actor-299"))));
  const std::size_t at = text.find("and ");
  ASSERT_NE(at, text.npos) << text;
  std::size_t shown = 0;
  for (std::size_t row = text.find("\nactor-"); row != text.npos;
       row = text.find("\nactor-", row + 1))
    ++shown;
  EXPECT_EQ(std::stoul(text.substr(at + 4)) + shown, 300u) << text;
}

TEST(TopPicture, AStreamHasItsErrorBesideTheNaiveOne) {
  TopSnapshot snapshot = Hero(0);
  snapshot.status["models"][0]["name"] = "pumps";
  snapshot.status["streams"] = {{{"name", "pumps"},
                                 {"up", false},
                                 {"down_s", 12.0},
                                 {"error", 0.412},
                                 {"baseline_error", 0.73},
                                 {"messages_per_s", 10},
                                 {"devices", 3}}};
  const std::string text = Text(snapshot, 80, 24);
  EXPECT_THAT(text, ::testing::ContainsRegex("pumps +down 12 s +0.412 +0.730 +10 +3"));
  EXPECT_THAT(text, HasSubstr("rows/s"));
  EXPECT_THAT(text, Not(HasSubstr("return 431.2")));
}

TEST(TopPicture, AShardHasItsModelsAndWhichWorkerWaits) {
  TopSnapshot snapshot;
  snapshot.status = Json{{"shard", 1},
                         {"shards", 2},
                         {"directory", "/runs/r-shard-1"},
                         {"pid", 9},
                         {"uptime_s", 2.0},
                         {"models",
                          {{{"name", "default"},
                            {"version", 812},
                            {"workers", 3},
                            {"pushes", 900},
                            {"pushes_per_s", 12.5},
                            {"waits", "worker 2 waits for worker 0: round 813"}}}}};
  const std::string text = Text(snapshot, 80, 24);
  EXPECT_THAT(text, HasSubstr("shard 1 of 2 (/runs/r-shard-1)"));
  EXPECT_THAT(text, ::testing::ContainsRegex("1 of 2 +default +3 +812 +12.5 +900"));
  EXPECT_THAT(text, HasSubstr("shard 1: worker 2 waits for worker 0: round 813"));
  TopSnapshot learner = Hero();
  learner.shards = {snapshot.status};
  EXPECT_THAT(Text(learner, 80, 30), ::testing::ContainsRegex("1 of 2 +default +3 +812"));
}

TEST(TopPicture, TroublesAreSaid) {
  TopSnapshot snapshot = Hero(1);
  snapshot.status["models"][0]["checkpoint_trouble"] = "cannot write w: full";
  snapshot.status["refused_actors"] = {{{"name", "old"}, {"reason", "it has another model"}}};
  snapshot.status["actors"][0]["troubles"] = {{{"reason", "NaN at place 1"}}};
  EXPECT_THAT(Text(snapshot, 100, 40),
              AllOf(HasSubstr("no checkpoint of npc: cannot write w: full"),
                    HasSubstr("actor old is refused: it has another model"),
                    HasSubstr("actor actor-0: NaN at place 1")));
}

TEST(TopPicture, AHostileNameIsOnlyText) {
  TopSnapshot snapshot = Hero(1);
  snapshot.status["run"] = "r\x1b]0;x\x07";
  snapshot.status["actors"][0]["name"] = "a\x1b[31m\nb";
  snapshot.status["waiting"] = {"\x1b[2Jx"};
  const std::string text = Text(snapshot, 80, 24);
  EXPECT_EQ(text.find('\x1b'), text.npos);
  EXPECT_THAT(text, HasSubstr("a?[31m?b"));
}

TEST(TopPicture, AnAnswerOfAnotherShapeStillHasAPicture) {
  for (const Json& json : {Json::object(), Json{{"models", 3}, {"actors", "x"}},
                           Json{{"models", {1, 2}}, {"streams", {nullptr}}},
                           Json{{"models", {{{"name", 7}, {"reports", 3}}}}}}) {
    TopSnapshot snapshot;
    snapshot.status = json;
    EXPECT_FALSE(TopPicture(snapshot, {80, 24}, Glyphs::kAscii).empty()) << json;
  }
}

}  // namespace
}  // namespace murmurate
