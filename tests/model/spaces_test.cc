#include "murmurate/spaces.h"

#include <gtest/gtest.h>

#include <limits>

#include "shared/core/random.h"

namespace murmurate {
namespace {

Spaces CartPole() { return {Box({4}), Discrete(2)}; }

/// One leaf of every kind on both sides, and its text, written by hand.
Spaces Everything() {
  return {Dict({{"camera", Image({84, 84, 1})},
                {"place", Box({3})},
                {"kind", MultiDiscrete({10, 3})},
                {"team", Discrete(4)},
                {"flags", MultiBinary(6)}}),
          Dict({{"move", Discrete(2)},
                {"weapon", MultiDiscrete({3, 5})},
                {"buttons", MultiBinary(4)},
                {"turn", Box({2}, -1, 1)},
                {"push", Box({2, 1}, {-0.5f, 0}, {1e20f, 3.4028235e38f})},
                {"free", Box({3})}})};
}

constexpr char kEverything[] =
    "observation.camera uint8 84 84 1\n"
    "observation.place float32 3\n"
    "observation.kind categories 10 3\n"
    "observation.team categories 4\n"
    "observation.flags binary 6\n"
    "action.move discrete 2\n"
    "action.weapon discrete 3 5\n"
    "action.buttons binary 4\n"
    "action.turn continuous 2 low -1 -1 high 1 1\n"
    "action.push continuous 2 1 low -0.5 0 high 1e+20 3.4028235e+38\n"
    "action.free continuous 3\n";

TEST(Spaces, TextFormIsTheDocumentedOne) {
  EXPECT_EQ(CartPole().ToText(), "observation float32 4\naction discrete 2\n");
  EXPECT_EQ((Spaces{Box({3, 84, 84}), Discrete(18)}).ToText(),
            "observation float32 3 84 84\naction discrete 18\n");
  EXPECT_EQ(Everything().ToText(), kEverything);
}

TEST(Spaces, ParseGivesBackWhatToTextWrote) {
  for (const Spaces& spaces :
       {CartPole(), Spaces{Box({3, 84, 84}), Discrete(4096)}, Spaces{Discrete(5), Box({2})},
        Spaces{Dict({{"x", Box({1})}}), MultiBinary(1)}, Everything()}) {
    ASSERT_TRUE(CheckSpaces(spaces).ok()) << CheckSpaces(spaces);
    const Result<Spaces> parsed = Spaces::Parse(spaces.ToText());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, spaces);
  }
  EXPECT_TRUE(Spaces::Parse("observation float32 4\naction discrete 2").ok());
  EXPECT_TRUE(Spaces::Parse("observation float32 1048576\naction discrete 2").ok());
  EXPECT_TRUE(Spaces::Parse("observation uint8 4194304\naction discrete 2").ok());
}

TEST(Spaces, AnythingElseIsRefusedWithTheLine) {
  for (const char* text :
       {"",
        "\n",
        "observation float32 4",
        "action discrete 2\nobservation float32 4\n",
        "observation float32 4\naction discrete 2\n\n",
        "observation float32 4\naction discrete 1\n",
        "observation float32 0\naction discrete 2\n",
        "observation float32 -4\naction discrete 2\n",
        "observation float32 04\naction discrete 2\n",
        "observation  float32 4\naction discrete 2\n",
        "observation float32\naction discrete 2\n",
        "observation float32 4 \naction discrete 2\n",
        "observation float64 4\naction discrete 2\n",
        "observation float32 4\naction none\n",
        "observation float32 1 1 1 1 1 1 1 1 1\naction discrete 2\n",
        "observation float32 65536 65536\naction discrete 2\n",
        "observation float32 99999999999999999999999\naction discrete 2\n",
        "observation float32 4\naction discrete 2 1\n",
        "observation float32 4\naction float32 2\n",
        "observation discrete 4\naction discrete 2\n",
        "observation float32 4\naction uint8 2\n",
        "observation float32 4\naction continuous 2 low -1 -1\n",
        "observation float32 4\naction continuous 2 low -1 -1 high 1\n",
        "observation float32 4\naction continuous 2 low -1 -1 high 1 1 1\n",
        "observation float32 4\naction continuous 1 low -1.0 high 1\n",
        "observation float32 4\naction continuous 1 low -0 high 1\n",
        "observation float32 4\naction continuous 1 low 1 high 1\n",
        "observation float32 4\naction continuous 1 low -inf high 1\n",
        "observation float32 4\naction continuous 1 low nan high 1\n",
        "observation float32 4\naction continuous 1 high 1 low 0\n",
        "observation float32 4\naction continuous low high\n",
        "observation float32 4\nobservation float32 4\naction discrete 2\n",
        "observation.a float32 4\nobservation float32 4\naction discrete 2\n",
        "observation float32 4\nobservation.a float32 4\naction discrete 2\n",
        "observation.a float32 4\nobservation.a float32 4\naction discrete 2\n",
        "observation.a float32 4\naction discrete 2\nobservation.b float32 4\n",
        "observation. float32 4\naction discrete 2\n",
        "observation.A float32 4\naction discrete 2\n",
        "observation.a.b float32 4\naction discrete 2\n",
        "observationa float32 4\naction discrete 2\n",
        "observation float32 4\naction binary 2 2\n",
        "observation.x123456789012345678901234567890123 float32 4\naction discrete 2\n"}) {
    EXPECT_FALSE(Spaces::Parse(text).ok()) << text;
  }
  const Result<Spaces> bad = Spaces::Parse("observation float32 4\naction disc\1rete 2\n");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.status().message().find("\"action disc?rete 2\""), std::string::npos)
      << bad.status();
  EXPECT_FALSE(Spaces::Parse(std::string(100'000, ' ')).ok());
}

/// `text` with a few bytes changed, doubled, cut or taken from the words of the language.
std::string Mutated(std::string text, Random& random) {
  static constexpr const char* kWords[] = {
      "low", "high", " ",      "\n",           "-1",       "1e40",       "65536", "4097",  "nan",
      ".",   "0",    "action", "observation.", "discrete", "continuous", "uint8", "binary"};
  for (std::uint32_t edits = 1 + random.UniformInt(3); edits > 0 && !text.empty(); --edits) {
    const std::size_t at = random.UniformInt(static_cast<std::uint32_t>(text.size()));
    switch (random.UniformInt(5)) {
      case 0:
        text[at] = static_cast<char>(random.UniformInt(256));
        break;
      case 1:
        text.insert(at, kWords[random.UniformInt(std::size(kWords))]);
        break;
      case 2:
        text.erase(at, 1 + random.UniformInt(8));
        break;
      case 3:
        text.insert(at,
                    text.substr(random.UniformInt(static_cast<std::uint32_t>(text.size())), 20));
        break;
      default:
        text[at] = static_cast<char>('0' + random.UniformInt(10));
    }
  }
  return text;
}

TEST(Spaces, RandomTextNeverCrashesAndWhatParsesIsWrittenTheSameWay) {
  Random random(1);
  int parsed = 0;
  for (int i = 0; i < 30'000; ++i) {
    std::string text = Mutated(i % 2 ? kEverything : CartPole().ToText(), random);
    if (i % 16 == 0) {
      for (char& c : text) c = static_cast<char>(random.Next());
    }
    const Result<Spaces> spaces = Spaces::Parse(text);
    if (!spaces.ok()) continue;
    ++parsed;
    if (!text.ends_with('\n')) text += '\n';
    ASSERT_EQ(spaces->ToText(), text);
    ASSERT_TRUE(CheckSpaces(*spaces).ok());
    ASSERT_EQ(*Spaces::Parse(spaces->ToText()), *spaces);
  }
  EXPECT_GT(parsed, 500);
}

testing::AssertionResult Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                              : testing::AssertionFailure() << text;
}

TEST(Spaces, CheckNamesTheLeafOfTheObservationAndWhatIsWrong) {
  const auto seen = [](const Space& space) { return CheckSpaces({space, Discrete(2)}).message(); };
  EXPECT_EQ(seen(Box({1024, 1024})), "");
  EXPECT_EQ(seen(Image({1080, 1920, 2})), "");
  EXPECT_TRUE(
      Has(seen(Box({1048577})), "space observation is float32 1048577 but it takes 1 to 8"));
  EXPECT_TRUE(Has(seen(Image({1080, 1920, 3})), "and 1 to 4194304 numbers in all"));
  EXPECT_TRUE(Has(seen(Box({})), "1 to 8 dimensions"));
  EXPECT_TRUE(Has(seen(Box({-1, -4})), "1 to 8 dimensions"));
  EXPECT_TRUE(Has(seen(Box({2}, 0, 1)), "only actions have"));
  EXPECT_TRUE(Has(seen(Discrete(1)), "2 to 4096 choices"));
  EXPECT_TRUE(Has(seen(Dict({})), "0 leaves"));
  EXPECT_TRUE(Has(seen(Dict({{"a", Box({1})}, {"a", Box({1})}})), "\"a\""));
  EXPECT_TRUE(Has(seen(Dict({{"Bad", Box({1})}})), "\"Bad\""));
  EXPECT_TRUE(Has(seen(Dict({{"a", Dict({{"b", Box({1})}})}})), "observation.a is dict"));
  EXPECT_TRUE(Has(seen(Dict({{"a", Space()}})), "observation.a is none"));
  std::vector<std::pair<std::string, Space>> many;
  for (int i = 0; i < 33; ++i)
    many.emplace_back(std::string("x").append(std::to_string(i)), Box({1}));
  EXPECT_TRUE(Has(seen(Dict(many)), "33 leaves"));
  EXPECT_TRUE(Has(CheckSpaces({}).message(), "none"));
}

TEST(Spaces, CheckNamesTheLeafOfTheActionAndWhatIsWrong) {
  const auto action = [](const Space& space) { return CheckSpaces({Box({4}), space}).message(); };
  EXPECT_EQ(action(Discrete(4096)), "");
  EXPECT_TRUE(Has(action(Discrete(4097)), "space action is discrete 4097"));
  EXPECT_TRUE(Has(action(MultiDiscrete({3, 1})), "for each variable"));
  EXPECT_TRUE(Has(action(MultiDiscrete({})), "2 or more variables"));
  EXPECT_TRUE(Has(action(MultiDiscrete(std::vector<int>(17, 4096))), "65536 choices in all"));
  EXPECT_TRUE(Has(action(MultiBinary(0)), "1 to 65536 switches"));
  EXPECT_TRUE(Has(action(Box({65537})), "and 1 to 65536 numbers in all"));
  EXPECT_TRUE(Has(action(Image({2})), "bytes"));
  EXPECT_TRUE(Has(action(Box({2}, {0, 0}, {1})), "each of its 2 numbers"));
  EXPECT_TRUE(Has(action(Box({1}, 1, 1)), "finite bounds"));
  EXPECT_TRUE(Has(action(Box({1}, 0, std::numeric_limits<float>::infinity())), "finite bounds"));
  EXPECT_TRUE(Has(action(Box({1000}, -0.123f, 0.123f)), "bytes of text"));
  Space broken = Dict({{"a", Box({1})}, {"b", Box({1})}});
  broken.names.pop_back();
  EXPECT_TRUE(Has(action(broken), "2 leaves and 1 names"));
}

TEST(Spaces, FirstDifferenceIsInWordsAndNamesTheLeaf) {
  EXPECT_EQ(FirstDifference(CartPole(), CartPole()), "");
  EXPECT_EQ(FirstDifference(Everything(), Everything()), "");
  EXPECT_EQ(FirstDifference(CartPole(), {Box({4}), Discrete(3)}),
            "action: expected discrete 2, got discrete 3");
  EXPECT_EQ(FirstDifference(CartPole(), {Box({2, 2}), Discrete(3)}),
            "observation: expected float32 4, got float32 2 2");
  Spaces other = Everything();
  other.observation.leaves[1] = Box({2});
  EXPECT_EQ(FirstDifference(Everything(), other),
            "observation.place: expected float32 3, got float32 2");
  other = Everything();
  other.action.names[1] = "gun";
  EXPECT_EQ(FirstDifference(Everything(), other),
            "action.weapon: expected discrete 3 5, got action.gun discrete 3 5");
  other = Everything();
  other.action.names.pop_back();
  other.action.leaves.pop_back();
  EXPECT_EQ(FirstDifference(Everything(), other),
            "action.free: expected continuous 3, got nothing");
  EXPECT_EQ(FirstDifference(other, Everything()),
            "action.free: expected nothing, got continuous 3");
  EXPECT_EQ(FirstDifference(CartPole(), {Dict({{"a", Box({4})}}), Discrete(2)}),
            "observation: expected float32 4, got observation.a float32 4");
  other = {Box({4}), Box({1000}, -1, 1)};
  EXPECT_LT(FirstDifference(CartPole(), other).size(), 300u);
}

TEST(Spaces, ElementCountSaturatesInsteadOfWrapping) {
  EXPECT_EQ(Box({2, 3}).element_count(), 6);
  EXPECT_EQ(Discrete(9).element_count(), 1);
  EXPECT_EQ(MultiDiscrete({9, 2, 2}).element_count(), 3);
  EXPECT_EQ(MultiBinary(7).element_count(), 7);
  EXPECT_EQ(Everything().action.element_count(), 1 + 2 + 4 + 2 + 2 + 3);
  const int most = std::numeric_limits<int>::max();
  EXPECT_EQ(Box({65536, 65536}).element_count(), most);
  EXPECT_EQ(Dict({{"a", Box({65536, 65536})}, {"b", Box({2})}}).element_count(), most);
}

TEST(Spaces, OneVariableOfManyIsADiscrete) { EXPECT_EQ(MultiDiscrete({5}), Discrete(5)); }

}  // namespace
}  // namespace murmurate
