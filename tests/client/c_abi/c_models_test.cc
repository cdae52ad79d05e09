// "npc-*=npc boss-?=boss": what the game calls its agents decides which model they play.
#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

mmr_client_options OptionsOf(const char* models) {
  mmr_client_options options = Options();
  options.models = models;
  return options;
}

mmr_agent* NewAgent(mmr_client* client, const char* name, int numbers) {
  const mmr_space see = mmr_box(numbers), act = mmr_discrete(4);
  mmr_agent_options options{};
  options.size = sizeof options;
  options.observation = &see;
  options.action = &act;
  options.model = name;
  return mmr_agent_new(client, &options);
}

TEST(CModels, ArePickedByTheFirstPatternThatMatchesAnAgentsName) {
  Stage stage({}, OptionsOf("npc-*=npc  boss-?=boss"));
  mmr_agent* agents[] = {NewAgent(stage.client, "npc-1", 3), NewAgent(stage.client, "npc-2", 3),
                         NewAgent(stage.client, "boss-1", 5), NewAgent(stage.client, "pet", 2)};
  ASSERT_TRUE(Until([&] { stage.learner.PollOnce(); },
                    [&] {
                      return stage.learner.knows("npc") && stage.learner.knows("boss") &&
                             stage.learner.knows("pet");
                    }))
      << mmr_last_error();
  EXPECT_FALSE(stage.learner.knows("npc-1"));
  EXPECT_EQ(NewAgent(stage.client, "npc-3", 9), nullptr);
  EXPECT_THAT(mmr_last_error(), HasSubstr("model npc of this client has other spaces"));
  for (mmr_agent* agent : agents) EXPECT_EQ(mmr_agent_close(agent), MMR_OK) << mmr_last_error();
}

TEST(CModels, TextThatIsNoListOfPatternsIsRefused) {
  for (const auto& [text, sentence] :
       {std::pair{"npc-*", "\"npc-*\" is no PATTERN=MODEL; write npc-*=npc boss-?=boss"},
        {"npc-*=npc =boss", "model pattern \"\" -> \"boss\""},
        {"npc-*=", "model pattern \"npc-*\" -> \"\""}}) {
    const mmr_client_options options = OptionsOf(text);
    EXPECT_EQ(mmr_connect(FreshAddress().c_str(), &options), nullptr) << text;
    EXPECT_EQ(mmr_last_status(), MMR_INVALID_ARGUMENT);
    EXPECT_THAT(mmr_last_error(), HasSubstr(sentence));
  }
}

}  // namespace
}  // namespace murmurate
