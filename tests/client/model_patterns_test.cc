// A game names its agents; patterns say which model each plays.
#include "client/model_patterns.h"

#include <gmock/gmock.h>

#include "tests/client/game.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

TEST(ModelPatterns, AStarIsAnyLettersAndAQuestionMarkOne) {
  EXPECT_TRUE(Matches("npc-*", "npc-7"));
  EXPECT_TRUE(Matches("npc-*", "npc-"));
  EXPECT_FALSE(Matches("npc-*", "npc"));
  EXPECT_FALSE(Matches("npc-*", "an npc-7"));
  EXPECT_TRUE(Matches("boss-?", "boss-1"));
  EXPECT_FALSE(Matches("boss-?", "boss-12"));
  EXPECT_FALSE(Matches("boss-?", "boss-"));
  EXPECT_TRUE(Matches("*-red-*", "tank-red-red-3"));
  EXPECT_TRUE(Matches("*a*b", "aab-b"));
  EXPECT_FALSE(Matches("*a*b", "aab-c"));
  EXPECT_TRUE(Matches("*", ""));
  EXPECT_FALSE(Matches("?", ""));
  EXPECT_TRUE(Matches("", ""));
  EXPECT_TRUE(Matches("npc", "npc"));
}

/// Of a pattern that would take a naive matcher 2^30 tries.
TEST(ModelPatterns, ManyStarsTakeNoLonger) {
  std::string pattern;
  for (int i = 0; i < 30; ++i) pattern += "*a";
  EXPECT_FALSE(Matches(pattern + "b", std::string(300, 'a')));
}

TEST(ModelPatterns, TheFirstThatMatchesDecidesAndWithoutOneTheNameIsTheModel) {
  const std::vector<ModelPattern> models = {{"npc-boss", "boss"}, {"npc-*", "npc"}};
  EXPECT_EQ(ModelOf(models, "npc-boss"), "boss");
  EXPECT_EQ(ModelOf(models, "npc-3"), "npc");
  EXPECT_EQ(ModelOf(models, "default"), "default");
}

TEST(ModelPatterns, AgentsOfOneModelShareItAndTheLearnerKnowsNoOther) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  auto client = MustConnect(address, {.models = {{"npc *", "npc"}, {"boss-?", "boss"}}});
  Game first(*client, "npc no. 1"), second(*client, "npc no. 2"), boss(*client, "boss-1", 5);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); },
                    [&] { return learner.knows("npc") && learner.knows("boss"); }));
  EXPECT_FALSE(learner.knows("npc no. 1"));
  EXPECT_FALSE(
      client->NewAgent({.observation = Box({9}), .action = Discrete(4), .model = "npc 3"}).valid());
  EXPECT_THAT(client->last_error().message(), HasSubstr("model npc of this client has other"));
}

TEST(ModelPatterns, OnesThatCannotBeAreRefused) {
  for (const ModelPattern& wrong : {ModelPattern{"", "npc"}, {"npc-*", ""}, {"npc-*", "n p"}}) {
    const auto client = Client::Connect(FreshAddress(), {.models = {wrong}});
    ASSERT_FALSE(client.ok()) << wrong.agents;
    EXPECT_THAT(client.status().message(),
                HasSubstr("model pattern \"" + wrong.agents + "\" -> \"" + wrong.model + "\""));
  }
}

}  // namespace
}  // namespace murmurate
