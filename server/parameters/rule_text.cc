#include "server/parameters/rule_text.h"

#include <charconv>
#include <map>

namespace murmurate {
namespace {

/// "rule asgd, form gradient" as {"rule": "asgd", "form": "gradient"}.
std::map<std::string_view, std::string_view> WordsOf(std::string_view text) {
  std::map<std::string_view, std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find(", ");
    const std::string_view pair = text.substr(0, end);
    const std::size_t space = pair.find(' ');
    words[pair.substr(0, space)] = space == pair.npos ? std::string_view() : pair.substr(space + 1);
    text = end == text.npos ? std::string_view() : text.substr(end + 2);
  }
  return words;
}

template <typename Number>
bool ReadNumber(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<ShardSettings> ParseRuleText(std::string_view text) {
  auto words = WordsOf(text);
  ShardSettings settings;
  RuleSettings& rule = settings.rule;
  const auto name = Named<RuleName>(words["rule"]);
  const auto form = Named<PushForm>(words["form"]);
  const bool read = name && form && ReadNumber(words["window"], &rule.window) &&
                    ReadNumber(words["elastic"], &rule.elastic) &&
                    ReadNumber(words["adag_scale"], &rule.adag_scale) &&
                    ReadNumber(words["backup"], &settings.backup) &&
                    ReadNumber(words["max_staleness"], &settings.max_staleness) &&
                    ReadNumber(words["max_grad_norm"], &settings.max_grad_norm);
  if (read) {
    rule.name = *name;
    rule.form = *form;
    settings.normalize_reward = words.contains("normalize_reward");
  }
  if (!read || !CheckRule(rule).ok() || SharesMemory(rule.name))
    return InvalidData("the shard's rule (" + std::string(text) +
                       ") cannot be read; use the same version of murmurate on both sides");
  return settings;
}

}  // namespace murmurate
