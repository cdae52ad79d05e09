// final_evaluation: when the run ends, plays so many episodes with its last weights, without
// exploration, and says what they came to. It has run.environment's game, as `murmurate eval` has.
#include <atomic>

#include "server/hooks/kinds.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct FinalEvaluationSettings {
  int episodes = 100;
};

const Keys<FinalEvaluationSettings>& FinalEvaluationKeys() {
  using namespace keys;
  using S = FinalEvaluationSettings;
  static const Keys<S> kKeys("hook.final_evaluation",
                             {{"episodes", &S::episodes, "without exploration", Range(1, 1e6)}});
  return kKeys;
}

class FinalEvaluationHook : public Hook {
 public:
  FinalEvaluationHook(const FinalEvaluationSettings& settings, HookTools tools)
      : settings_(settings), tools_(std::move(tools)) {}

  HookMoments wants() const override { return 0; }
  double usual_end_s() const override { return 60.0; }
  void Interrupt() override { interrupted_ = true; }

  Status OnEvent(const HookEvent&) override {
    const auto score =
        tools_.actions.evaluate(settings_.episodes, [this] { return interrupted_.load(); });
    if (!score.ok()) return score.status();
    tools_.log(LogLevel::kInfo,
               "hook " + tools_.name + ": mean return " + FormatNumber("%.3f", score->mean_return) +
                   ", standard deviation " + FormatNumber("%.3f", score->deviation) + ", over " +
                   WithCommas(score->episodes) +
                   " episodes without exploration, with the weights of step " +
                   WithCommas(score->steps));
    return {};
  }

 private:
  const FinalEvaluationSettings settings_;
  const HookTools tools_;
  std::atomic<bool> interrupted_{false};
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  const FinalEvaluationSettings settings = FinalEvaluationKeys().Read(keys);
  return std::unique_ptr<Hook>(std::make_unique<FinalEvaluationHook>(settings, tools));
}

}  // namespace

HookKind FinalEvaluationHookKind() {
  return {"final_evaluation", RulesOf<FinalEvaluationKeys>, Make};
}

}  // namespace murmurate
