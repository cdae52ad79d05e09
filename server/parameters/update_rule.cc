#include "server/parameters/update_rule.h"

#include <algorithm>

#include "server/compute/vector_math.h"
#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

bool TakesTheMean(RuleName name) {
  return name == RuleName::kAgn || name == RuleName::kAdag || name == RuleName::kSync ||
         name == RuleName::kSagn;
}

void Copy(std::span<const float> values, std::span<float> out) {
  if (values.data() != out.data()) std::copy(values.begin(), values.end(), out.begin());
}

}  // namespace

void AddToWindow(std::span<const float> gradient, float scale, int before,
                 std::span<float> accumulated) {
  if (before == 0) {
    SetScaled(scale, gradient, accumulated);
  } else {
    AddScaled(scale, gradient, accumulated);
  }
}

void Contribution(const RuleSettings& rule, const WorkerWindow& window, std::span<float> out) {
  MURMURATE_CHECK(HasForm(rule.name, rule.form) && window.steps > 0,
                  "CheckRule passed, and something is to be pushed");
  const float steps = TakesTheMean(rule.name) ? static_cast<float>(window.steps) : 1.0f;
  if (AnswerIsElastic(rule.name)) {
    Copy(window.local, out);
  } else if (rule.form == PushForm::kElastic) {
    ScaledDifference(static_cast<float>(rule.elastic), window.local, window.pulled, out);
  } else if (rule.form == PushForm::kDelta) {
    DividedDifference(window.local, window.pulled, steps, out);
  } else if (steps == 1.0f) {
    Copy(window.accumulated, out);
  } else {
    Divide(window.accumulated, steps, out);
  }
}

void Adopt(const RuleSettings& rule, std::span<const float> answer,
           std::span<const float> contribution, std::span<float> local) {
  if (rule.form != PushForm::kElastic) {
    Copy(answer, local);
  } else {
    Subtract(AnswerIsElastic(rule.name) ? answer : contribution, local);
  }
}

bool WastedLocalStep(double learning_rate, std::span<const float> gradient,
                     std::span<const float> elastic) {
  return learning_rate * Norm(gradient) <= Norm(elastic);
}

float MergeScale(const RuleSettings& rule, const Push& push, std::span<const float> center) {
  if (rule.name == RuleName::kDynSgd)
    return static_cast<float>(1.0 / (static_cast<double>(push.staleness) + 1.0));
  if (rule.name == RuleName::kAdag)
    return static_cast<float>(1.0 / (SquaredDistance(center, push.pulled) / rule.adag_scale + 1.0));
  return 1.0f;
}

float Merge(const RuleSettings& rule, const Push& push, std::span<float> center,
            Optimizer* optimizer, std::span<float> elastic) {
  MURMURATE_CHECK(!IsSynchronous(rule.name) && !SharesMemory(rule.name),
                  "rounds have MergeRound, hogwild has no shard");
  if (AnswerIsElastic(rule.name)) {
    ElasticStep(static_cast<float>(rule.elastic), push.contribution, center, elastic);
    return 1.0f;
  }
  const float scale = MergeScale(rule, push, center);
  if (rule.form == PushForm::kDelta) {
    AddScaled(scale, push.contribution, center);
  } else {
    optimizer->Step(push.learning_rate, scale, push.contribution, center);
    optimizer->LookAhead(center);
  }
  return scale;
}

}  // namespace murmurate
