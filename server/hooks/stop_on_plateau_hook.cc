// stop_on_plateau: ends the run when a metric has not become better for so many steps.
#include "server/hooks/kinds.h"
#include "server/hooks/stop_by_metric.h"
#include "server/metrics/number_text.h"

namespace murmurate {

/// Whether more or less of a metric is better.
enum class Better : std::uint8_t { kMax, kMin };
constexpr EnumName<Better> kBetterNames[] = {{Better::kMax, "max"}, {Better::kMin, "min"}};
constexpr std::span<const EnumName<Better>> NamesOf(Better) { return kBetterNames; }

namespace {

struct StopOnPlateauSettings {
  std::string metric = "rollout/ep_rew_mean";
  Better mode = Better::kMax;
  double min_delta = 0.0;
  std::optional<std::uint64_t> patience_steps;
};

const Keys<StopOnPlateauSettings>& StopOnPlateauKeys() {
  using namespace keys;
  using S = StopOnPlateauSettings;
  static const Keys<S> kKeys(
      "hook.stop_on_plateau",
      {{"metric", &S::metric, "a column of progress.csv", Example("\"eval/mean_reward\"")},
       {"mode", &S::mode, "whether more of it is better, or less"},
       {"min_delta", &S::min_delta, "what is no more than this better is not better",
        Range(0, 1e300)},
       {"patience_steps", &S::patience_steps, "learned from without a better value",
        Example("200_000"), Range(1, kMany)}});
  return kKeys;
}

class StopOnPlateauHook : public StopByMetric {
 public:
  StopOnPlateauHook(StopOnPlateauSettings settings, const HookTools& tools)
      : StopByMetric(settings.metric, tools), settings_(std::move(settings)) {}

 private:
  std::string WhyStop(double value, std::uint64_t steps) override {
    const double gain = !best_                           ? 0
                        : settings_.mode == Better::kMax ? value - *best_
                                                         : *best_ - value;
    if (!best_ || gain > settings_.min_delta) {
      best_ = value;
      best_step_ = steps;
    }
    if (steps - best_step_ < *settings_.patience_steps) return "";
    return settings_.metric + " has not become better than " + FormatNumber("%.6g", *best_) +
           " since step " + WithCommas(best_step_);
  }

  const StopOnPlateauSettings settings_;
  std::optional<double> best_;
  std::uint64_t best_step_ = 0;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  StopOnPlateauSettings settings = StopOnPlateauKeys().Read(keys);
  if (!settings.patience_steps)
    return RefuseHook(keys,
                      "patience_steps is not set; write for example patience_steps = 200_000");
  return std::unique_ptr<Hook>(std::make_unique<StopOnPlateauHook>(std::move(settings), tools));
}

}  // namespace

HookKind StopOnPlateauHookKind() { return {"stop_on_plateau", RulesOf<StopOnPlateauKeys>, Make}; }

}  // namespace murmurate
