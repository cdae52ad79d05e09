#include "server/parameters/rule_settings.h"

#include <cmath>
#include <utility>

namespace murmurate {
namespace {

bool IsElastic(RuleName name) { return name == RuleName::kEasgd || AnswerIsElastic(name); }

bool HasBothForms(RuleName name) {
  return name == RuleName::kDownpour || name == RuleName::kAgn || name == RuleName::kAdag ||
         name == RuleName::kDynSgd;
}

std::string Quoted(const char* text) { return "\"" + std::string(text) + "\""; }

}  // namespace

RuleSettings DefaultRule(RuleName name, int workers) {
  RuleSettings rule{.name = name, .elastic = kMovingRate / workers};
  if (IsElastic(name)) rule.form = PushForm::kElastic;
  if (name == RuleName::kAgn || name == RuleName::kAdag || name == RuleName::kDynSgd)
    rule.form = PushForm::kDelta;
  if (name == RuleName::kAgn || name == RuleName::kAdag) rule.window = 12;
  if (name == RuleName::kDynSgd || name == RuleName::kSagn) rule.window = 5;
  if (AnswerIsElastic(name)) rule.window = 32;
  return rule;
}

RuleSettings DefaultRuleOfManyUpdates(RuleName name, int workers, std::optional<PushForm> form) {
  RuleSettings rule = DefaultRule(name, workers);
  if (name == RuleName::kDownpour) rule.form = PushForm::kDelta;
  rule.form = form.value_or(rule.form);
  if (name == RuleName::kAgn || name == RuleName::kAdag || name == RuleName::kSagn) rule.window = 4;
  const bool adds_up = name == RuleName::kDownpour || name == RuleName::kDynSgd;
  if ((adds_up && rule.form == PushForm::kDelta) || AnswerIsElastic(name))
    rule.window = kWholeBatch;
  return rule;
}

bool HasForm(RuleName name, PushForm form) {
  if (IsElastic(name)) return form == PushForm::kElastic;
  return form == PushForm::kGradient || (form == PushForm::kDelta && HasBothForms(name));
}

Status CheckRule(const RuleSettings& rule) {
  const std::string name = TextOf(rule.name);
  if (!HasForm(rule.name, rule.form)) {
    const std::string got = "parameters.form: got " + Quoted(TextOf(rule.form)) + ", expected ";
    return InvalidArgument(
        IsElastic(rule.name)
            ? got + "no such line, because " + name + " pushes its parameters; take it out"
            : got + "\"gradient\", the only one that " + name + " has; take the line out");
  }
  if (rule.window < 1)
    return InvalidArgument("parameters.window: got " + std::to_string(rule.window) +
                           ", expected at least 1 gradient from one exchange to the next");
  if (!(rule.elastic >= 0.0 && rule.elastic <= 1.0))
    return InvalidArgument("parameters.elastic: got " + std::to_string(rule.elastic) +
                           ", expected a number from 0 to 1, usually 0.9 / workers");
  if (!(rule.adag_scale > 0.0) || !std::isfinite(rule.adag_scale))
    return InvalidArgument("parameters.adag_scale: got " + std::to_string(rule.adag_scale) +
                           ", expected a number above 0, usually 1");
  return {};
}

}  // namespace murmurate
