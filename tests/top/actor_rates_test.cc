#include "server/top/actor_rates.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

using Json = nlohmann::json;
constexpr std::int64_t kSecond = 1'000'000'000;

Json Actor(const char* name, double steps, double here_s, double trajectories = 0,
           double mean = 0) {
  Json actor{{"name", name}, {"steps", steps}, {"here_s", here_s}, {"staleness", Json::array()}};
  if (trajectories > 0) {
    actor["staleness"].push_back({{"versions", "0"}, {"trajectories", trajectories}});
    actor["staleness_mean"] = mean;
  }
  return actor;
}

Json After(ActorRates* rates, std::int64_t now_s, std::initializer_list<Json> actors) {
  Json status{{"actors", actors}};
  rates->AddTo(&status, now_s * kSecond);
  return status["actors"];
}

TEST(ActorRates, TheFirstIsOverAnActorsWholeStayLaterOnesSinceTheAnswerBefore) {
  ActorRates rates;
  EXPECT_EQ(After(&rates, 100, {Actor("a", 500, 10)})[0]["steps_per_s"], 50.0);
  EXPECT_EQ(After(&rates, 102, {Actor("a", 900, 12)})[0]["steps_per_s"], 200.0);
  EXPECT_EQ(After(&rates, 103, {Actor("a", 900, 13)})[0]["steps_per_s"], 0.0);
}

TEST(ActorRates, TheLagIsOfWhatCameLately) {
  ActorRates rates;
  EXPECT_TRUE(After(&rates, 1, {Actor("a", 0, 1)})[0]["lag"].is_null()) << "nothing was learned";
  EXPECT_DOUBLE_EQ(After(&rates, 2, {Actor("a", 0, 2, 100, 8)})[0]["lag"].get<double>(), 8.0);
  const auto later = After(&rates, 3, {Actor("a", 0, 3, 200, 4.5)});  // 100 of 8, 100 of 1
  EXPECT_DOUBLE_EQ(later[0]["lag"].get<double>(), 1.0);
  EXPECT_DOUBLE_EQ(After(&rates, 4, {Actor("a", 0, 4, 200, 4.5)})[0]["lag"].get<double>(), 1.0)
      << "nothing came since";
}

TEST(ActorRates, AnActorThatComesAgainAndTwoOfOneNameAreActorsOfTheirOwn) {
  ActorRates rates;
  After(&rates, 1, {Actor("a", 1000, 10), Actor("a", 50, 10)});
  const auto two = After(&rates, 2, {Actor("a", 1100, 11), Actor("a", 60, 11)});
  EXPECT_EQ(two[0]["steps_per_s"], 100.0);
  EXPECT_EQ(two[1]["steps_per_s"], 10.0);
  EXPECT_EQ(After(&rates, 3, {Actor("a", 30, 1)})[0]["steps_per_s"], 30.0) << "it began anew";
}

TEST(ActorRates, AnAnswerOfAnotherShapeIsLeftAsItIs) {
  ActorRates rates;
  for (Json json : {Json(), Json(7), Json{{"actors", 3}}, Json{{"actors", {1, "x", nullptr}}}}) {
    const Json before = json;
    rates.AddTo(&json, kSecond);
    EXPECT_EQ(json, before);
  }
}

}  // namespace
}  // namespace murmurate
