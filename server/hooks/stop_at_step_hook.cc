// stop_at_step: ends the run after so many steps learned from: `step` of the run in all its lives,
// or `steps` more than this life began with. The run ends a few batches later, because training
// does not wait for a hook; run.stop_at_steps is exact.
#include "server/hooks/kinds.h"
#include "server/hooks/stopping.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct StopAtStepSettings {
  std::optional<std::uint64_t> step, steps;
};

const Keys<StopAtStepSettings>& StopAtStepKeys() {
  using namespace keys;
  using S = StopAtStepSettings;
  static const Keys<S> kKeys("hook.stop_at_step",
                             {{"step", &S::step, "learned from, by the run in all its lives",
                               Example("100_000"), Range(1, kMany)},
                              {"steps", &S::steps, "learned from, since this life of the run began",
                               Example("100_000"), Range(1, kMany)}});
  return kKeys;
}

class StopAtStepHook : public Hook {
 public:
  StopAtStepHook(const StopAtStepSettings& settings, const HookTools& tools)
      : settings_(settings), stopping_(tools) {}

  HookMoments wants() const override {
    return Bit(HookMoment::kBeforeBatch) | Bit(HookMoment::kAfterBatch);
  }
  std::string done() const override { return stopping_.done(); }

  Status OnEvent(const HookEvent& event) override {
    if (!began_) began_ = event.steps;  // the first event is before the first batch
    const std::uint64_t last = settings_.step ? *settings_.step : *began_ + *settings_.steps;
    if (event.moment == HookMoment::kAfterBatch && event.steps >= last)
      stopping_.Stop("step " + WithCommas(event.steps) + " of " + WithCommas(last));
    return {};
  }

 private:
  const StopAtStepSettings settings_;
  Stopping stopping_;
  std::optional<std::uint64_t> began_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  const StopAtStepSettings settings = StopAtStepKeys().Read(keys);
  if (settings.step.has_value() == settings.steps.has_value())
    return RefuseHook(keys,
                      "it needs either step (of the whole run) or steps (of this life); write for "
                      "example step = 100_000");
  return std::unique_ptr<Hook>(std::make_unique<StopAtStepHook>(settings, tools));
}

}  // namespace

HookKind StopAtStepHookKind() { return {"stop_at_step", RulesOf<StopAtStepKeys>, Make}; }

}  // namespace murmurate
