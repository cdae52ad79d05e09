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

bool FitsNumber(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* whole = std::get_if<std::int64_t>(value)) *value = static_cast<double>(*whole);
  const auto* number = std::get_if<double>(value);
  return number != nullptr && InRange(rule, *number);
}

bool FitsSchedule(const ConfigRule& rule, ConfigValue* value) {
  const auto* schedule = std::get_if<ConfigSchedule>(value);
  if (schedule == nullptr) return FitsNumber(rule, value);
  return InRange(rule, schedule->from) && InRange(rule, schedule->to);
}

bool FitsString(const ConfigRule& rule, const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || text->empty()) return false;
  return rule.choices.empty() || std::ranges::count(rule.choices, *text) > 0;
}

bool FitsTexts(ConfigValue* value) {
  if (const auto* one = std::get_if<std::string>(value)) *value = Strings{*one};
  const auto* list = std::get_if<Strings>(value);
  return list != nullptr && !list->empty() && std::ranges::count(*list, "") == 0;
}

bool FitsNumbers(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* whole = std::get_if<Integers>(value))
    *value = std::vector<double>(whole->begin(), whole->end());
  const auto* list = std::get_if<std::vector<double>>(value);
  return list != nullptr &&
         std::ranges::all_of(*list, [&](double number) { return InRange(rule, number); });
}

bool IsDuration(const std::string& text) { return SecondsIn(text).has_value(); }

bool FitsBytes(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* text = std::get_if<std::string>(value))
    if (const auto bytes = BytesIn(*text)) *value = static_cast<std::int64_t>(*bytes);
  const auto* count = std::get_if<std::int64_t>(value);
  return count != nullptr && InRange(rule, static_cast<double>(*count));
}

bool FitsSpans(const ConfigRule& rule, ConfigValue* value) {
  if (const auto* one = std::get_if<std::int64_t>(value)) *value = Integers{*one};
  if (const auto* one = std::get_if<std::string>(value)) *value = Strings{*one};
  if (const auto* counts = std::get_if<Integers>(value))
    return !counts->empty() && std::ranges::all_of(*counts, [&](std::int64_t n) {
      return InRange(rule, static_cast<double>(n));
    });
  const auto* texts = std::get_if<Strings>(value);
  return texts != nullptr && !texts->empty() && std::ranges::all_of(*texts, IsDuration);
}

/// "" for good layers; a word of a layer that is none is said.
std::string FitLayers(const ConfigRule& rule, const ConfigValue& value) {
  if (const auto* units = std::get_if<Integers>(&value)) {
    const bool good =
        std::ranges::all_of(*units, [](std::int64_t n) { return n >= 1 && n <= 65536; });
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

/// Whether the value fits, for kinds that have only one thing to say about what does not.
bool Fits(const ConfigRule& rule, ConfigValue* value) {
  switch (rule.kind) {
    case ValueKind::kBool:
      return std::holds_alternative<bool>(*value);
    case ValueKind::kInteger: {
      const auto* number = std::get_if<std::int64_t>(value);
      return number != nullptr && InRange(rule, static_cast<double>(*number));
    }
    case ValueKind::kNumber:
      return FitsNumber(rule, value);
    case ValueKind::kNumbers:
      return FitsNumbers(rule, value);
    case ValueKind::kDuration: {
      const auto* text = std::get_if<std::string>(value);
      return text != nullptr && IsDuration(*text);
    }
    case ValueKind::kBytes:
      return FitsBytes(rule, value);
    case ValueKind::kSpans:
      return FitsSpans(rule, value);
    case ValueKind::kPaths:
    case ValueKind::kNames:
      return FitsTexts(value);
    case ValueKind::kStrings: {
      const auto* list = std::get_if<Strings>(value);
      const auto* usual = std::get_if<Strings>(&rule.standard);
      const bool may_be_empty = usual != nullptr && usual->empty();
      return list != nullptr && (may_be_empty || !list->empty());
    }
    case ValueKind::kSchedule:
    case ValueKind::kSetting:
      return FitsSchedule(rule, value);
    default:
      return FitsString(rule, *value);
  }
}

}  // namespace

const ConfigRule* ConfigSchema::Find(const std::string& section, const std::string& key) const {
  if (section == setting.section) return &setting;
  for (const auto* rules : {&general, &stream, &hook})
    for (const ConfigRule& rule : *rules)
      if (rule.section == section && rule.key == key) return &rule;
  return nullptr;
}

std::vector<std::string> ConfigSchema::KeysOf(const std::string& section) const {
  const bool of_hook = section.starts_with("hook.");  // which has those of every hook, too
  std::vector<std::string> keys;
  for (const auto* rules : {&general, &stream, &hook})
    for (const ConfigRule& rule : *rules)
      if (rule.section == section || (of_hook && rule.section == "hook")) keys.push_back(rule.key);
  return keys;
}

std::vector<std::string> ConfigSchema::SectionNames() const {
  std::vector<std::string> names;
  for (const ConfigRule& rule : general)
    if (names.empty() || names.back() != rule.section) names.push_back(rule.section);
  names.insert(names.end(), {setting.section, "stream", "hook"});
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
    case ValueKind::kBytes:
      return "a count of bytes" + RangeOf(rule) +
             ", or a size such as \"10GB\" (kB, MB, GB, TB, KiB, MiB, GiB or TiB)";
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
  const bool word = std::holds_alternative<std::string>(*value);
  if (rule.kind == ValueKind::kLayers || (rule.kind == ValueKind::kNetwork && !word))
    return FitLayers(rule, *value);
  if (const auto* words = std::get_if<ConfigCurriculum>(value); words && rule.expected)
    return rule.expected(*words);
  return Fits(rule, value) ? "" : Expectation(rule);
}

}  // namespace murmurate
