#include "server/metrics/fill_text.h"

#include <optional>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

std::string Shown(const MetricValue& value, std::string_view format) {
  if (const std::string* text = std::get_if<std::string>(&value.variant())) return *text;
  const auto number = value.number();
  if (!number) return "-";
  if (format == ",") return WithCommas(value.count());
  if (format == "return") return ReturnText(*number);
  if (format == "rate") return RateText(*number);
  if (format == "time") return ShortDuration(*number);
  if (format == "%") return PercentText(*number);
  return FormatNumber(format.empty() ? "%.17g" : std::string(format).c_str(), *number);
}

class Filler {
 public:
  Filler(std::string_view pattern, const ValueOf& value_of)
      : pattern_(pattern), value_of_(value_of) {}

  /// Up to the bracket that closes it; "" when it is left out.
  std::string Section(bool optional) {
    const bool above_zero = optional && Next('+');
    std::optional<bool> shown;
    std::string text;
    while (at_ < pattern_.size() && pattern_[at_] != ']') {
      if (Next('[')) {
        text += Section(true);
      } else if (Next('{')) {
        text += Placeholder(above_zero, &shown);
      } else {
        text += pattern_[at_++];
      }
    }
    if (optional) MURMURATE_CHECK(Next(']'), "a bracket that is closed");
    return optional && !shown.value_or(true) ? "" : text;
  }

 private:
  bool Next(char c) {
    const bool there = at_ < pattern_.size() && pattern_[at_] == c;
    at_ += there;
    return there;
  }
  std::string Placeholder(bool above_zero, std::optional<bool>* shown) {
    const std::size_t end = pattern_.find('}', at_);
    const std::string_view placeholder = pattern_.substr(at_, end - at_);
    const std::size_t bar = placeholder.find('|');
    at_ = end + 1;
    const MetricValue value = value_of_(placeholder.substr(0, bar));
    const auto* text = std::get_if<std::string>(&value.variant());
    if (!*shown)
      *shown = !value.empty() && !(text && text->empty()) && !(above_zero && value.zero());
    return Shown(value, bar == placeholder.npos ? "" : placeholder.substr(bar + 1));
  }

  const std::string_view pattern_;
  const ValueOf& value_of_;
  std::size_t at_ = 0;
};

}  // namespace

std::string FillText(std::string_view pattern, const ValueOf& value_of) {
  return Filler(pattern, value_of).Section(false);
}

}  // namespace murmurate
