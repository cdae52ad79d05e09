#include "murmurate/spaces.h"

#include <gtest/gtest.h>

#include <limits>

namespace murmurate {
namespace {

Spaces CartPole() { return {Box({4}), Discrete(2)}; }

TEST(Spaces, TextFormIsTheDocumentedOne) {
  EXPECT_EQ(CartPole().ToText(), "observation float32 4\naction discrete 2\n");
  EXPECT_EQ((Spaces{Box({3, 84, 84}), Discrete(18)}).ToText(),
            "observation float32 3 84 84\naction discrete 18\n");
}

TEST(Spaces, ParseGivesBackWhatToTextWrote) {
  for (const Spaces& spaces :
       {CartPole(), Spaces{Box({3, 84, 84}), Discrete(4096)}, Spaces{Discrete(5), Box({2})}}) {
    const Result<Spaces> parsed = Spaces::Parse(spaces.ToText());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, spaces);
  }
  EXPECT_TRUE(Spaces::Parse("observation float32 4\naction discrete 2").ok());
}

TEST(Spaces, AnythingElseIsRefusedWithTheLine) {
  for (const char* text :
       {"", "\n", "observation float32 4", "action discrete 2\nobservation float32 4\n",
        "observation float32 4\naction discrete 2\n\n",
        "observation float32 4\naction discrete 1\n", "observation float32 0\naction discrete 2\n",
        "observation float32 -4\naction discrete 2\n",
        "observation float32 04\naction discrete 2\n",
        "observation  float32 4\naction discrete 2\n", "observation float32\naction discrete 2\n",
        "observation float32 4 \naction discrete 2\n", "observation float64 4\naction discrete 2\n",
        "observation float32 4\naction none\n",
        "observation float32 1 1 1 1 1 1 1 1 1\naction discrete 2\n",
        "observation float32 65536 65536\naction discrete 2\n",
        "observation float32 99999999999999999999999\naction discrete 2\n",
        "observation float32 4\naction discrete 2 3\n"}) {
    EXPECT_FALSE(Spaces::Parse(text).ok()) << text;
  }
  const Result<Spaces> bad = Spaces::Parse("observation float32 4\naction disc\1rete 2\n");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("\"action disc?rete 2\""), std::string::npos)
      << bad.status();
  EXPECT_FALSE(Spaces::Parse(std::string(100'000, ' ')).ok());
}

TEST(Spaces, CheckNamesWhatIsNotSupported) {
  EXPECT_TRUE(CheckSpaces(CartPole()).ok());
  EXPECT_TRUE(CheckSpaces({Box({65536}), Discrete(4096)}).ok());
  const auto message = [](const Spaces& spaces) { return CheckSpaces(spaces).message(); };
  EXPECT_NE(message({Box({65537}), Discrete(2)}).find("observation"), std::string::npos);
  EXPECT_NE(message({Box({}), Discrete(2)}).find("observation"), std::string::npos);
  EXPECT_NE(message({Box({-1, -4}), Discrete(2)}).find("observation"), std::string::npos);
  EXPECT_NE(message({Discrete(4), Discrete(2)}).find("discrete 4"), std::string::npos);
  EXPECT_NE(message({Box({4}), Box({2})}).find("action"), std::string::npos);
  EXPECT_NE(message({Box({4}), Discrete(1)}).find("action"), std::string::npos);
  EXPECT_NE(message({Box({4}), Discrete(4097)}).find("4097"), std::string::npos);
  EXPECT_NE(message({}).find("none"), std::string::npos);
}

TEST(Spaces, FirstDifferenceIsInWords) {
  EXPECT_EQ(FirstDifference(CartPole(), CartPole()), "");
  EXPECT_EQ(FirstDifference(CartPole(), {Box({4}), Discrete(3)}),
            "action: expected discrete 2, got discrete 3");
  EXPECT_EQ(FirstDifference(CartPole(), {Box({2, 2}), Discrete(3)}),
            "observation: expected float32 4, got float32 2 2");
}

TEST(Spaces, ElementCountSaturatesInsteadOfWrapping) {
  EXPECT_EQ(Box({2, 3}).element_count(), 6);
  EXPECT_EQ(Discrete(9).element_count(), 1);
  EXPECT_EQ(Box({65536, 65536}).element_count(), std::numeric_limits<int>::max());
}

}  // namespace
}  // namespace murmurate
