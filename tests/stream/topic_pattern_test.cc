#include "server/stream/topic_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/allocations.h"

namespace murmurate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<std::string_view>;

TopicPattern Pattern(std::string_view text) {
  Result<TopicPattern> pattern = TopicPattern::Parse(text);
  EXPECT_TRUE(pattern.ok()) << pattern.status();
  return *pattern;
}

TEST(TopicPattern, EachNameIsOneLevelOfTheFilter) {
  EXPECT_EQ(Pattern("sensors/{device}/data").filter(), "sensors/+/data");
  EXPECT_EQ(Pattern("{device}").filter(), "+");
  EXPECT_EQ(Pattern("{site}/floor/{device}").filter(), "+/floor/+");
  EXPECT_EQ(Pattern("plant/line3").filter(), "plant/line3");
  EXPECT_EQ(Pattern("/{device}//x/").filter(), "/+//x/");
  EXPECT_EQ(Pattern(std::string(1024, 'x')).filter(), std::string(1024, 'x'));
  EXPECT_THAT(Pattern("{site}/{device}").names(), ElementsAre("site", "device"));
}

TEST(TopicPattern, WhatCannotBeAPatternIsRefusedWithTheRemedy) {
  const std::pair<std::string, const char*> kWrong[] = {
      {"", "write one"},
      {"sensors/+/data", "give each level that varies a name"},
      {"sensors/#", "give each level that varies a name"},
      {"$SYS/{device}", "begins with '$'"},
      {std::string("a\0b", 3), "zero byte"},
      {"sensors/{}/data", "a name is 1 to 64"},
      {"sensors/{a b}/{device}", "a name is 1 to 64"},
      {"{" + std::string(65, 'x') + "}/{device}", "a name is 1 to 64"},
      {"sensors/x{device}/data", "stands for a whole level"},
      {"sensors/{device}x", "stands for a whole level"},
      {"sensors/{device", "stands for a whole level"},
      {"sensors/device}", "stands for a whole level"},
      {"sensors/{", "stands for a whole level"},
      {"sensors/{a}{b}", "stands for a whole level"},
      {"sensors/{{device}}", "stands for a whole level"},
      {"{device}/{device}", "two levels {device}"},
      {"{site}/data", "call that one {device}"},
      {std::string(1025, 'x'), "at most 1024"},
      {"{device}/{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}/{j}/{k}/{l}/{m}/{n}/{o}/{p}", "more than 16"},
  };
  for (const auto& [text, sentence] : kWrong) {
    const Result<TopicPattern> pattern = TopicPattern::Parse(text);
    ASSERT_FALSE(pattern.ok()) << text;
    EXPECT_EQ(pattern.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(pattern.status().message(), HasSubstr(sentence));
  }
}

TEST(TopicPattern, ATopicThatFitsGivesItsLevels) {
  struct Case {
    const char *pattern, *topic;
    Values values;
    const char* device;
  };
  const Case kCases[] = {
      {"sensors/{device}/data", "sensors/boiler 3/data", {"boiler 3"}, "boiler 3"},
      {"sensors/{device}/data", "sensors/{device}/data", {"{device}"}, "{device}"},
      {"{site}/{device}", "north/\xC3\xA4", {"north", "\xC3\xA4"}, "\xC3\xA4"},
      {"{device}/{site}", "a/b", {"a", "b"}, "a"},
      {"plant/line3", "plant/line3", {}, ""},
      {"/{device}/", "/a/", {"a"}, "a"},
      {"{device}/", "a/", {"a"}, "a"},
      {"a//{device}", "a//b", {"b"}, "b"},
  };
  for (const Case& expected : kCases) {
    const TopicPattern pattern = Pattern(expected.pattern);
    Values values = {"what was there before"};
    EXPECT_EQ(pattern.Match(expected.topic, &values), Refusal::kNone) << expected.topic;
    EXPECT_EQ(values, expected.values) << expected.topic;
    EXPECT_EQ(pattern.DeviceOf(values), expected.device) << expected.topic;
  }
}

TEST(TopicPattern, ATopicThatDoesNotFitIsRefused) {
  const std::string longest(128, 'n');
  struct Case {
    std::string pattern, topic;
    Refusal refusal;
  };
  const Case kCases[] = {
      {"sensors/{device}/data", "", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors/a", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors/a/", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors/a/data/", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors/a/data/more", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors/a/dat", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "/sensors/a/data", Refusal::kUnknownTopic},
      {"sensors/{device}/data", "sensors/a/b/data", Refusal::kUnknownTopic},
      {"{device}/x", "$SYS/x", Refusal::kUnknownTopic},
      {"{device}", "", Refusal::kEmptyDevice},
      {"sensors/{device}/data", "sensors//data", Refusal::kEmptyDevice},
      {"{device}", longest, Refusal::kNone},
      {"{device}", longest + "n", Refusal::kDeviceNameTooLong},
      {"{site}/{device}", longest + "n/a", Refusal::kDeviceNameTooLong},
      {"{device}", std::string("a\0b", 3), Refusal::kBadDeviceName},
      {"{device}", "a+", Refusal::kBadDeviceName},
      {"{device}", "#", Refusal::kBadDeviceName},
      {"{device}", "a\nb", Refusal::kBadDeviceName},
      {"{device}", "a\x7F", Refusal::kBadDeviceName},
      {"{device}", "\xC2\x9F", Refusal::kBadDeviceName},  // U+009F, the last control character
      {"{device}", "\xC2\xA0", Refusal::kNone},
      {"{device}", "\xC3", Refusal::kBadDeviceName},          // cut
      {"{device}", "\xC0\xAF", Refusal::kBadDeviceName},      // overlong '/'
      {"{device}", "\xED\xA0\x80", Refusal::kBadDeviceName},  // a surrogate
      {"{device}/x", "+/y", Refusal::kUnknownTopic},
  };
  for (const Case& expected : kCases) {
    Values values;
    EXPECT_EQ(Pattern(expected.pattern).Match(expected.topic, &values), expected.refusal)
        << expected.pattern << " on " << expected.topic;
  }
}

TEST(TopicPattern, MatchingAndFillingAllocateNothingOnceWarm) {
  const TopicPattern pattern = Pattern("sensors/{site}/{device}/data");
  const Result<TopicTemplate> filled = TopicTemplate::Parse("out/{device}/{site}", pattern);
  ASSERT_TRUE(filled.ok());
  Values values;
  std::string topic;
  const auto turn = [&] {
    return pattern.Match("sensors/a name that is long/another name that is long/data", &values) ==
               Refusal::kNone &&
           (filled->Fill(values, &topic), !topic.empty());
  };
  EXPECT_TRUE(turn());
  const std::uint64_t before = Allocations();
  EXPECT_TRUE(turn());
  EXPECT_EQ(Allocations() - before, 0U);
}

TEST(TopicTemplate, IsFilledFromTheLevelsOfTheOtherPattern) {
  struct Case {
    const char *source, *text, *topic, *filled;
  };
  const Case kCases[] = {
      {"sensors/{device}/data", "sensors/{device}/forecast", "sensors/a/data",
       "sensors/a/forecast"},
      {"{site}/{device}", "out/{device}/{site}", "n/a", "out/a/n"},
      {"{site}/{device}", "all", "n/a", "all"},
      {"{site}/{device}", "/{device}/x/", "n/a", "/a/x/"},
      {"line3", "line3/forecast", "line3", "line3/forecast"},
  };
  for (const Case& expected : kCases) {
    const TopicPattern source = Pattern(expected.source);
    const Result<TopicTemplate> filled = TopicTemplate::Parse(expected.text, source);
    ASSERT_TRUE(filled.ok()) << filled.status();
    Values values;
    ASSERT_EQ(source.Match(expected.topic, &values), Refusal::kNone);
    std::string topic = "what was there before";
    filled->Fill(values, &topic);
    EXPECT_EQ(topic, expected.filled);
  }
}

TEST(TopicTemplate, HasTheDeviceThatThePayloadNames) {
  const Result<TopicPattern> source = TopicPattern::Parse("{site}/data", true);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_FALSE(source->has_device());
  EXPECT_THAT(source->names(), ElementsAre("site", "device"));
  Values values;
  ASSERT_EQ(source->Match("north/data", &values), Refusal::kNone);
  EXPECT_THAT(values, ElementsAre("north"));
  EXPECT_EQ(source->DeviceOf(values), "");
  const Result<TopicTemplate> filled = TopicTemplate::Parse("out/{device}/{site}", *source);
  ASSERT_TRUE(filled.ok()) << filled.status();
  values.push_back("pump");
  std::string topic;
  filled->Fill(values, &topic);
  EXPECT_EQ(topic, "out/pump/north");
  EXPECT_THAT(TopicPattern::Parse("{site}/{device}", true)->names(), ElementsAre("site", "device"));
}

TEST(TopicTemplate, MeetsWhatItMayBeFilledTo) {
  const Result<TopicTemplate> filled =
      TopicTemplate::Parse("out/{device}/x", Pattern("sensors/{device}"));
  ASSERT_TRUE(filled.ok());
  EXPECT_TRUE(filled->Meets(Pattern("out/a/x")));
  EXPECT_TRUE(filled->Meets(Pattern("out/{device}/x")));
  EXPECT_FALSE(filled->Meets(Pattern("out/{device}/y")));
  EXPECT_FALSE(filled->Meets(Pattern("out/{device}")));
}

TEST(TopicTemplate, WhatTheStreamCouldNotFillOrWouldReadItselfIsRefused) {
  struct Case {
    const char *source, *text, *sentence;
  };
  const Case kCases[] = {
      {"sensors/{device}/data", "sensors/{room}/forecast", "level {room} that"},
      {"sensors/data", "sensors/{device}/forecast", "level {device} that"},
      {"sensors/{device}/data", "sensors/{device}/data", "would read what it publishes"},
      {"sensors/{device}/{kind}", "sensors/{device}/forecast", "would read what it publishes"},
      {"sensors/{device}/data", "sensors/all/data", "would read what it publishes"},
      {"line3", "line3", "would read what it publishes"},
      {"sensors/{device}/data", "sensors/+/forecast", "'+' or '#'"},
      {"sensors/{device}/data", "", "write one"},
  };
  for (const Case& expected : kCases) {
    const Result<TopicTemplate> filled =
        TopicTemplate::Parse(expected.text, Pattern(expected.source));
    ASSERT_FALSE(filled.ok()) << expected.text;
    EXPECT_THAT(filled.status().message(), HasSubstr(expected.sentence));
  }
}

}  // namespace
}  // namespace murmurate
