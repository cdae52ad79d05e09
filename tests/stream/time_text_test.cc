#include "server/stream/time_text.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

namespace murmurate {
namespace {

using Time = std::optional<std::int64_t>;

std::string Written(std::int64_t time_ns, TimeForm form) {
  std::string text;
  AppendTime(time_ns, form, &text);
  return text;
}

TEST(TimeText, ADecimalIsReadToTheNanosecond) {
  struct Case {
    const char* text;
    TimeForm form;
    Time time_ns;
  };
  constexpr auto kS = TimeForm::kSeconds, kMs = TimeForm::kMilliseconds,
                 kUs = TimeForm::kMicroseconds, kNs = TimeForm::kNanoseconds;
  const Case kCases[] = {
      {"0", kS, 0},
      {"1700000000", kS, 1700000000000000000},
      {"1700000000.123", kS, 1700000000123000000},  // 64 ns beside it as a double
      {"1700000000.123456789", kS, 1700000000123456789},
      {"1700000000.1234567899999999999999", kS, 1700000000123456789},
      {"0.000000001", kS, 1},
      {"0.0000000009", kS, 0},
      {"1.7e9", kS, 1700000000000000000},
      {"17E+8", kS, 1700000000000000000},
      {"17000000000e-1", kS, 1700000000000000000},
      {"1700000000123.5", kMs, 1700000000123500000},
      {"1700000000123456.7", kUs, 1700000000123456700},
      {"1700000000123456789.9", kNs, 1700000000123456789},
      {"4611686018427387903", kNs, kMaxTimeNs},
      {"4611686018427387904", kNs, {}},
      {"4611686018.427387903", kS, kMaxTimeNs},
      {"4611686018.427387904", kS, {}},
      {"18446744073709551616", kNs, {}},
      {"99999999999999999999999999999999999999", kNs, {}},
      {"1e400", kS, {}},
      {"1e99999999999999999999", kS, {}},
      {"1e-99999999999999999999", kS, 0},
      {"0e99999999999", kS, 0},
      {"-1", kS, {}},
      {"", kS, {}},
      {".", kS, {}},
      {"1.2.3", kS, {}},
      {"1e", kS, {}},
      {"1 ", kS, {}},
      {"0x10", kS, {}},
      {"nan", kS, {}},
  };
  for (const Case& expected : kCases) {
    EXPECT_EQ(TimeOfDecimal(expected.text, expected.form), expected.time_ns) << expected.text;
  }
}

TEST(TimeText, ACountOfUnitsIsATimeUpToTheYear2115) {
  EXPECT_EQ(TimeOfCount(1700000000, TimeForm::kSeconds), 1700000000000000000);
  EXPECT_EQ(TimeOfCount(1700000000123, TimeForm::kMilliseconds), 1700000000123000000);
  EXPECT_EQ(TimeOfCount(1700000000123456, TimeForm::kMicroseconds), 1700000000123456000);
  EXPECT_EQ(TimeOfCount(4611686018427387903, TimeForm::kNanoseconds), kMaxTimeNs);
  EXPECT_EQ(TimeOfCount(4611686018427387904, TimeForm::kNanoseconds), std::nullopt);
  EXPECT_EQ(TimeOfCount(4611686018, TimeForm::kSeconds), 4611686018000000000);
  EXPECT_EQ(TimeOfCount(4611686019, TimeForm::kSeconds), std::nullopt);
  EXPECT_EQ(TimeOfCount(UINT64_MAX, TimeForm::kSeconds), std::nullopt);
}

TEST(TimeText, Iso8601IsReadWithItsZone) {
  // date -u -d '2026-05-01T12:34:56Z' +%s gives 1777638896; 2000-03-01: 951868800.
  const std::pair<const char*, Time> kCases[] = {
      {"2026-05-01T12:34:56Z", 1777638896000000000},
      {"2026-05-01t12:34:56z", 1777638896000000000},
      {"2026-05-01 12:34:56", 1777638896000000000},
      {"2026-05-01T12:34:56.789Z", 1777638896789000000},
      {"2026-05-01T12:34:56,7890000001Z", 1777638896789000000},
      {"2026-05-01T14:34:56+02:00", 1777638896000000000},
      {"2026-05-01T14:34:56+0200", 1777638896000000000},
      {"2026-05-01T14:34:56+02", 1777638896000000000},
      {"2026-05-01T07:04:56-05:30", 1777638896000000000},
      {"2000-02-29T23:59:60Z", 951868800000000000},
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T00:00:00+01:00", {}},
      {"1969-12-31T23:59:59Z", {}},
      {"2116-12-31T00:00:00Z", {}},
      {"9999-12-31T23:59:59Z", {}},
      {"1900-02-29T00:00:00Z", {}},
      {"2026-02-29T00:00:00Z", {}},
      {"2026-13-01T00:00:00Z", {}},
      {"2026-00-01T00:00:00Z", {}},
      {"2026-05-01T24:00:00Z", {}},
      {"2026-05-01T12:60:00Z", {}},
      {"2026-05-01T12:34:61Z", {}},
      {"2026-05-01T12:34:56.Z", {}},
      {"2026-05-01T12:34:56+24:00", {}},
      {"2026-05-01T12:34:56+02:", {}},
      {"2026-05-01T12:34:56Zx", {}},
      {"2026-05-01T12:34", {}},
      {"2026-05-01", {}},
      {"20260501T123456Z", {}},
      {"+026-05-01T12:34:56Z", {}},
      {"", {}},
  };
  for (const auto& [text, time_ns] : kCases) EXPECT_EQ(TimeOfIso8601(text), time_ns) << text;
}

TEST(TimeText, ATimeIsWrittenAsItCame) {
  constexpr std::int64_t kTime = 1777638896789000000;
  EXPECT_EQ(Written(kTime, TimeForm::kSeconds), "1777638896.789");
  EXPECT_EQ(Written(kTime, TimeForm::kMilliseconds), "1777638896789");
  EXPECT_EQ(Written(kTime + 500000, TimeForm::kMilliseconds), "1777638896789.5");
  EXPECT_EQ(Written(kTime, TimeForm::kMicroseconds), "1777638896789000");
  EXPECT_EQ(Written(kTime, TimeForm::kNanoseconds), "1777638896789000000");
  EXPECT_EQ(Written(kTime, TimeForm::kIso8601), "2026-05-01T12:34:56.789Z");
  EXPECT_EQ(Written(951868799000000001, TimeForm::kIso8601), "2000-02-29T23:59:59.000000001Z");
  EXPECT_EQ(Written(0, TimeForm::kSeconds), "0");
  EXPECT_EQ(Written(10, TimeForm::kSeconds), "0.00000001");
  EXPECT_EQ(Written(0, TimeForm::kIso8601), "1970-01-01T00:00:00Z");
}

TEST(TimeText, FormsHaveNames) {
  for (const char* name : {"s", "ms", "us", "ns", "iso8601"}) {
    ASSERT_TRUE(Named<TimeForm>(name));
    EXPECT_STREQ(TextOf(*Named<TimeForm>(name)), name);
  }
  EXPECT_EQ(Named<TimeForm>("seconds"), std::nullopt);
}

}  // namespace
}  // namespace murmurate
