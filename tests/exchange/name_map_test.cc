#include "server/exchange/name_map.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

TEST(NameMap, RenamesLayersAndTensors) {
  const auto map = NameMap::Parse(
      "# ours = theirs\n\"policy.0\" = \"actor.fc1\"\n\n  \"policy.0.bias\"=\"b\" # one\r\n");
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->TheirName("policy.0.weight"), "actor.fc1.weight");
  EXPECT_EQ(map->TheirName("policy.0.bias"), "b");
  EXPECT_EQ(map->TheirName("policy.01.weight"), "policy.01.weight");
  EXPECT_EQ(map->Find("policy.1.weight"), nullptr);
  EXPECT_EQ(map->Find("policy.0.bias")->number, 4u);
}

TEST(NameMap, NamesTheLineThatIsWrong) {
  const auto wrong = [](const std::string& text) {
    return NameMap::Parse(text).status().message();
  };
  EXPECT_EQ(
      wrong("\n\"policy.0\" = actor\n"),
      "line 2: \"\"policy.0\" = actor\" where a line such as \"policy.0\" = \"actor.fc1\" was "
      "expected; correct it");
  for (const char* line :
       {"policy.0 = \"x\"", "\"a\" \"b\"", "\"a\" = \"\"", "\"a\" = \"b\" c", "\"a\" = \"b", "="})
    EXPECT_TRUE(wrong(line).starts_with("line 1: ")) << line;
  EXPECT_EQ(wrong("\"a\" = \"b\"\n\"a\" = \"c\"\n"),
            "line 2: \"a\" stands here a second time; take one of both out");
  EXPECT_EQ(wrong(std::string(65537, ' ')),
            "it has more than 65536 bytes; a line for each layer is enough");
}

}  // namespace
}  // namespace murmurate
