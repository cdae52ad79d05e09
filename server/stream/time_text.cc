#include "server/stream/time_text.h"

#include <charconv>
#include <chrono>
#include <limits>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kMax = kMaxTimeNs;

/// A unit is 10 to the power of this, in nanoseconds.
int PowerOf(TimeForm form) {
  MURMURATE_CHECK(form != TimeForm::kIso8601, "a count has a unit");
  return 9 - 3 * static_cast<int>(form);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// number * 10^power, cut off, when it is a time.
std::optional<std::int64_t> Shift(std::uint64_t number, int power) {
  for (; power < 0 && number > 0; ++power) number /= 10;
  for (; power > 0 && number > 0; --power) {
    if (number > kMax / 10) return std::nullopt;
    number *= 10;
  }
  if (number > kMax) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

/// Letters is the rest of a text, which is read from the front.
class Letters {
 public:
  explicit Letters(std::string_view text) : text_(text) {}

  bool empty() const { return text_.empty(); }
  bool ConsumeAny(std::string_view choices) {
    if (text_.empty() || choices.find(text_.front()) == choices.npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  std::optional<int> ParseDigit() {
    if (text_.empty() || !IsDigit(text_.front())) return std::nullopt;
    const int digit = text_.front() - '0';
    text_.remove_prefix(1);
    return digit;
  }
  /// Exactly so many digits; -1: there are not.
  int ParseNumber(int digits) {
    int number = 0;
    for (int i = 0; i < digits; ++i) {
      const std::optional<int> digit = ParseDigit();
      if (!digit) return -1;
      number = number * 10 + *digit;
    }
    return number;
  }

 private:
  std::string_view text_;
};

/// Nanoseconds of ".789"; 0 when there is none, -1 when it is wrong.
std::int64_t ParseFraction(Letters* in) {
  if (!in->ConsumeAny(".,")) return 0;
  std::int64_t nanoseconds = 0, worth = kSecondNs / 10;
  std::optional<int> digit = in->ParseDigit();
  if (!digit) return -1;
  for (; digit; digit = in->ParseDigit(), worth /= 10) nanoseconds += *digit * worth;
  return nanoseconds;
}

/// Seconds ahead of UTC; none when it is wrong.
std::optional<int> ParseZone(Letters* in) {
  if (in->empty() || in->ConsumeAny("Zz")) return 0;
  const bool ahead = in->ConsumeAny("+");
  if (!ahead && !in->ConsumeAny("-")) return std::nullopt;
  const int hours = in->ParseNumber(2);
  const int minutes = in->empty() ? 0 : (in->ConsumeAny(":"), in->ParseNumber(2));
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (ahead ? 1 : -1) * (hours * 3600 + minutes * 60);
}

/// Seconds since 1970 of "2026-05-01"; none when there is no such day.
std::optional<std::int64_t> ParseDay(Letters* in) {
  const int year = in->ParseNumber(4);
  const bool first = in->ConsumeAny("-");
  const int month = in->ParseNumber(2);
  const bool second = in->ConsumeAny("-");
  const int day = in->ParseNumber(2);
  if (year < 0 || month < 0 || day < 0 || !first || !second) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  return std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86400;
}

/// Seconds of "12:34:56"; -1 when it is wrong.
int ParseTimeOfDay(Letters* in) {
  const int hour = in->ParseNumber(2);
  const bool first = in->ConsumeAny(":");
  const int minute = in->ParseNumber(2);
  const bool second_colon = in->ConsumeAny(":");
  const int second = in->ParseNumber(2);
  const bool right = first && second_colon && hour >= 0 && hour <= 23 && minute >= 0 &&
                     minute <= 59 && second >= 0 && second <= 60;
  return right ? hour * 3600 + minute * 60 + second : -1;
}

void AppendPadded(std::int64_t number, std::size_t digits, std::string* text) {
  char written[20];
  const char* end = std::to_chars(written, written + sizeof written, number).ptr;
  const auto length = static_cast<std::size_t>(end - written);
  if (length < digits) text->append(digits - length, '0');
  text->append(written, length);
}

void AppendFraction(std::int64_t fraction, int digits, std::string* text) {
  if (fraction == 0) return;
  for (; fraction % 10 == 0; --digits) fraction /= 10;
  *text += '.';
  AppendPadded(fraction, static_cast<std::size_t>(digits), text);
}

void AppendIso8601(std::int64_t time_ns, std::string* text) {
  const std::int64_t days = time_ns / (86400 * kSecondNs);
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  const std::int64_t second = time_ns / kSecondNs % 86400;
  AppendPadded(static_cast<int>(date.year()), 4, text);
  *text += '-';
  AppendPadded(static_cast<unsigned>(date.month()), 2, text);
  *text += '-';
  AppendPadded(static_cast<unsigned>(date.day()), 2, text);
  *text += 'T';
  AppendPadded(second / 3600, 2, text);
  *text += ':';
  AppendPadded(second / 60 % 60, 2, text);
  *text += ':';
  AppendPadded(second % 60, 2, text);
  AppendFraction(time_ns % kSecondNs, 9, text);
  *text += 'Z';
}

}  // namespace

std::optional<std::int64_t> TimeOfCount(std::uint64_t count, TimeForm form) {
  return Shift(count, PowerOf(form));
}

std::optional<std::int64_t> TimeOfDecimal(std::string_view text, TimeForm form) {
  Letters in(text);
  int power = PowerOf(form);
  std::uint64_t number = 0;
  bool fraction = false, any = false;
  while (true) {
    if (!fraction && in.ConsumeAny(".")) fraction = true;
    const std::optional<int> digit = in.ParseDigit();
    if (!digit) break;
    any = true;
    const bool fits = number <= (std::numeric_limits<std::uint64_t>::max() - 9) / 10;
    if (fits) number = number * 10 + static_cast<std::uint64_t>(*digit);
    power += fraction && fits ? -1 : !fraction && !fits ? 1 : 0;
  }
  if (!any) return std::nullopt;
  if (in.ConsumeAny("eE")) {
    const bool down = in.ConsumeAny("-");
    if (!down) in.ConsumeAny("+");
    int exponent = 0;
    std::optional<int> digit = in.ParseDigit();
    if (!digit) return std::nullopt;
    for (; digit; digit = in.ParseDigit()) {
      if (exponent < 100'000'000) exponent = exponent * 10 + *digit;
    }
    power += down ? -exponent : exponent;
  }
  if (!in.empty()) return std::nullopt;
  return Shift(number, power);
}

std::optional<std::int64_t> TimeOfIso8601(std::string_view text) {
  Letters in(text);
  const std::optional<std::int64_t> day = ParseDay(&in);
  if (!day || !in.ConsumeAny("Tt ")) return std::nullopt;
  const int time_of_day = ParseTimeOfDay(&in);
  const std::int64_t fraction = ParseFraction(&in);
  const std::optional<int> zone = ParseZone(&in);
  if (time_of_day < 0 || fraction < 0 || !zone || !in.empty()) return std::nullopt;
  const std::int64_t seconds = *day + time_of_day - *zone;
  if (seconds < 0 || seconds >= kMaxTimeNs / kSecondNs) return std::nullopt;
  return seconds * kSecondNs + fraction;
}

void AppendTime(std::int64_t time_ns, TimeForm form, std::string* text) {
  MURMURATE_CHECK(time_ns >= 0, "a time lies after 1970");
  if (form == TimeForm::kIso8601) return AppendIso8601(time_ns, text);
  const int power = PowerOf(form);
  std::int64_t unit = 1;
  for (int i = 0; i < power; ++i) unit *= 10;
  AppendPadded(time_ns / unit, 1, text);
  AppendFraction(time_ns % unit, power, text);
}

}  // namespace murmurate
