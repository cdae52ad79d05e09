#include "server/metrics/fill_text.h"

#include <gtest/gtest.h>

#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

std::string Filled(std::string_view pattern) {
  return FillText(pattern, [](std::string_view key) -> MetricValue {
    if (key == "steps") return 1234567;
    if (key == "none") return 0;
    if (key == "half") return 0.5;
    if (key == "zero") return 0.0;
    if (key == "name") return "hero";
    if (key == "silence") return "";
    return {};
  });
}

TEST(FillText, EachFormatIsForReading) {
  EXPECT_EQ(Filled("{steps} {steps|,} {half|return} {steps|rate} {half|time} {half|%} {half|%.2f}"),
            "1234567 1,234,567 0.500 1235 k 0.5 s 50 % 0.50");
  EXPECT_EQ(Filled("of {name}: {missing|,} and {missing}"), "of hero: - and -");
}

TEST(FillText, ASectionIsLeftOutWithItsFirstValue) {
  EXPECT_EQ(Filled("a[ b {missing}] c[ {half} and {missing}]"), "a c 0.5 and -");
  EXPECT_EQ(Filled("[{silence}][{none|,}][{zero|%g}]"), "00");
  EXPECT_EQ(Filled("[+{none|,}][+{zero|%g}][+, {steps|,} late]"), "0, 1,234,567 late");
  EXPECT_EQ(Filled("[{half}[ of {missing}]][{missing}[ of {half}]]"), "0.5");
}

TEST(NumberText, NumbersAreMadeForReading) {
  EXPECT_EQ(WithCommas(7), "7");
  EXPECT_EQ(WithCommas(1234567), "1,234,567");
  EXPECT_EQ(ShortDuration(0.44), "0.4 s");
  EXPECT_EQ(ShortDuration(200), "3 min 20 s");
  EXPECT_EQ(ShortDuration(7500), "2 h 5 min");
  EXPECT_EQ(RateText(9999), "9999");
  EXPECT_EQ(PercentText(0.125), "12 %");
}

TEST(NumberText, SmallReturnsKeepTheirDigits) {
  EXPECT_EQ(ReturnText(0.9581), "0.958");
  EXPECT_EQ(ReturnText(-9.5), "-9.500");
  EXPECT_EQ(ReturnText(-198.24), "-198.2");
}

}  // namespace
}  // namespace murmurate
