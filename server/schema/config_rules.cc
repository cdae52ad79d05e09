#include "server/schema/config_rules.h"

#include <algorithm>
#include <cmath>

#include "shared/model/layer.h"

namespace murmurate {
namespace {

using Integers = std::vector<std::int64_t>;
constexpr std::size_t kMaxLayers = 64;
using Strings = std::vector<std::string>;

std::string RangeOf(const ConfigRule& rule) {
  const bool low = std::isfinite(rule.low), high = std::isfinite(rule.high) && rule.high < kMany;
  if (!low && !high) return "";
  if (low && !high) return rule.low == kTiny ? " above 0" : " of at least " + ShortToml(rule.low);
  return rule.low == kTiny ? " above 0 and at most " + ShortToml(rule.high)
                           : " from " + ShortToml(rule.low) + " to " + ShortToml(rule.high);
}

std::string ChoicesOf(const ConfigRule& rule) {
  std::string text;
  for (const std::string& choice : rule.choices)
    text += (text.empty() ? "" : " or ") + ToToml(ConfigValue(choice));
  return text;
}

bool InRange(const ConfigRule& rule, double value) {
  return std::isfinite(value) && value >= rule.low && value <= rule.high;
}

std::string FitNumber(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* whole = std::get_if<std::int64_t>(value)) *value = static_cast<double>(*whole);
  const auto* number = std::get_if<double>(value);
  return number && InRange(rule, *number) ? "" : Expectation(rule);
}

std::string FitSchedule(const ConfigRule& rule, ConfigValue* value) {
  const auto* schedule = std::get_if<ConfigSchedule>(value);
  if (schedule == nullptr) return FitNumber(rule, value);
  const bool good = InRange(rule, schedule->from) && InRange(rule, schedule->to);
  return good ? "" : Expectation(rule);
}

std::string FitSetting(const ConfigRule& rule, ConfigValue* value) {
  const auto* words = std::get_if<ConfigCurriculum>(value);
  if (words == nullptr) return FitSchedule(rule, value);
  return rule.expected(*words);
}

std::string FitString(const ConfigRule& rule, const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) return Expectation(rule);
  const auto& choices = rule.choices;
  const bool good =
      choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end();
  return good ? "" : Expectation(rule);
}

std::string FitTexts(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* one = std::get_if<std::string>(value)) *value = Strings{*one};
  const auto* list = std::get_if<Strings>(value);
  const bool good = list != nullptr && !list->empty() &&
                    std::none_of(list->begin(), list->end(),
                                 [](const std::string& path) { return path.empty(); });
  return good ? "" : Expectation(rule);
}

std::string FitLayers(const ConfigRule& rule, const ConfigValue& value) {
  if (const auto* units = std::get_if<Integers>(&value)) {
    const bool good = std::all_of(units->begin(), units->end(),
                                  [](std::int64_t n) { return n >= 1 && n <= 65536; });
    return good && units->size() <= kMaxLayers ? "" : Expectation(rule);
  }
  const auto* layers = std::get_if<Strings>(&value);
  if (layers == nullptr || layers->size() > kMaxLayers) return Expectation(rule);
  const Activation usual = Activation::kTanh;
  for (const std::string& layer : *layers) {
    const Result<Layer> parsed = Layer::Parse(layer, &usual);
    if (!parsed.ok()) return Expectation(rule) + " (" + parsed.status().message() + ")";
  }
  return "";
}

std::string FitNumbers(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* whole = std::get_if<Integers>(value))
    *value = std::vector<double>(whole->begin(), whole->end());
  const auto* list = std::get_if<std::vector<double>>(value);
  const bool good = list != nullptr && std::all_of(list->begin(), list->end(), [&](double number) {
                      return InRange(rule, number);
                    });
  return good ? "" : Expectation(rule);
}

std::string FitDuration(const ConfigRule& rule, const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  const bool good = text != nullptr && SecondsIn(*text).has_value();
  return good ? "" : Expectation(rule);
}

std::string FitSpans(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* one = std::get_if<std::int64_t>(value)) *value = Integers{*one};
  if (const auto* one = std::get_if<std::string>(value)) *value = Strings{*one};
  bool good = false;
  if (const auto* counts = std::get_if<Integers>(value))
    good = !counts->empty() && std::all_of(counts->begin(), counts->end(), [&](std::int64_t n) {
      return InRange(rule, static_cast<double>(n));
    });
  if (const auto* texts = std::get_if<Strings>(value))
    good = !texts->empty() && std::all_of(texts->begin(), texts->end(), [](const auto& text) {
      return SecondsIn(text).has_value();
    });
  return good ? "" : Expectation(rule);
}

std::string FitNetwork(const ConfigRule& rule, const ConfigValue& value) {
  if (std::holds_alternative<std::string>(value)) return FitString(rule, value);
  return FitLayers(rule, value);
}

}  // namespace

const ConfigRule* ConfigSchema::Find(const std::string& section, const std::string& key) const {
  if (section == setting.section) return &setting;
  for (const auto* rules : {&general, &stream})
    for (const ConfigRule& rule : *rules)
      if (rule.section == section && rule.key == key) return &rule;
  return nullptr;
}

std::vector<std::string> ConfigSchema::KeysOf(const std::string& section) const {
  std::vector<std::string> keys;
  for (const auto* rules : {&general, &stream})
    for (const ConfigRule& rule : *rules)
      if (rule.section == section) keys.push_back(rule.key);
  return keys;
}

std::vector<std::string> ConfigSchema::SectionNames() const {
  std::vector<std::string> names;
  for (const ConfigRule& rule : general)
    if (names.empty() || names.back() != rule.section) names.push_back(rule.section);
  names.insert(names.end(), {setting.section, "stream"});
  return names;
}

std::string Expectation(const ConfigRule& rule) {
  switch (rule.kind) {
    case ValueKind::kBool:
      return "true or false";
    case ValueKind::kInteger:
      return "an integer" + RangeOf(rule);
    case ValueKind::kNumber:
      return "a number" + RangeOf(rule);
    case ValueKind::kSchedule:
      return "a number" + RangeOf(rule) + " or {from, to, steps, shape}";
    case ValueKind::kSetting:
      return "a number, {from, to, steps, shape} or {from, to, step, when, episodes}";
    case ValueKind::kLayers:
      return "a list of at most 64 units (1 to 65536) and layers such as \"conv 32 8 4\"";
    case ValueKind::kStrings:
      return "a list of strings";
    case ValueKind::kPaths:
      return "a path or a list of \"name: path\"";
    case ValueKind::kNumbers:
      return "a list of numbers" + RangeOf(rule);
    case ValueKind::kNames:
      return "a string or a list of them, none empty";
    case ValueKind::kDuration:
      return "a duration such as \"10s\" (ms, s, m, h or d)";
    case ValueKind::kSpans:
      return "an integer" + RangeOf(rule) + ", a duration such as \"10s\", or a list of one kind";
    case ValueKind::kNetwork:
      return ChoicesOf(rule) +
             " or a list of at most 64 units (1 to 65536) and layers such as \"lstm 32\"";
    case ValueKind::kPath:
    case ValueKind::kString:
      break;
  }
  return rule.choices.empty() ? "a string that is not empty" : ChoicesOf(rule);
}

std::string Fit(const ConfigRule& rule, ConfigValue* value) {
  switch (rule.kind) {
    case ValueKind::kBool:
      return std::holds_alternative<bool>(*value) ? "" : Expectation(rule);
    case ValueKind::kNumber:
      return FitNumber(rule, value);
    case ValueKind::kSchedule:
      return FitSchedule(rule, value);
    case ValueKind::kSetting:
      return FitSetting(rule, value);
    case ValueKind::kPath:
    case ValueKind::kString:
      return FitString(rule, *value);
    case ValueKind::kPaths:
    case ValueKind::kNames:
      return FitTexts(rule, value);
    case ValueKind::kNumbers:
      return FitNumbers(rule, value);
    case ValueKind::kDuration:
      return FitDuration(rule, *value);
    case ValueKind::kSpans:
      return FitSpans(rule, value);
    case ValueKind::kNetwork:
      return FitNetwork(rule, *value);
    case ValueKind::kLayers:
      return FitLayers(rule, *value);
    case ValueKind::kInteger: {
      const auto* number = std::get_if<std::int64_t>(value);
      return number && InRange(rule, static_cast<double>(*number)) ? "" : Expectation(rule);
    }
    case ValueKind::kStrings: {
      const auto* list = std::get_if<Strings>(value);
      const auto* usual = std::get_if<Strings>(&rule.standard);
      const bool may_be_empty = usual != nullptr && usual->empty();
      return list && (may_be_empty || !list->empty()) ? "" : Expectation(rule);
    }
  }
  return "";
}

}  // namespace murmurate
