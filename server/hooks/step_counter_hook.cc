// step_counter: says how many steps and batches a second are learned from.
#include "server/hooks/kinds.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct StepCounterSettings {
  HookTimes times;
};

const Keys<StepCounterSettings>& StepCounterKeys() {
  static const Keys<StepCounterSettings> kKeys("hook.step_counter",
                                               WithTimes<StepCounterSettings>({}));
  return kKeys;
}

class StepCounterHook : public Hook {
 public:
  StepCounterHook(const HookTimes& times, HookTools tools)
      : tools_(std::move(tools)), clock_(times) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }

  Status OnEvent(const HookEvent& event) override {
    if (event.moment == HookMoment::kEnd) return {};
    ++batches_;
    const bool first = since_ns_ == 0;
    if (!clock_.Due(event.steps, event.at_ns) && !first) return {};
    const double seconds = 1e-9 * static_cast<double>(event.at_ns - since_ns_);
    if (!first && seconds > 0) {
      const auto steps = static_cast<double>(event.steps - steps_);
      tools_.log(LogLevel::kInfo, "hook " + tools_.name + ": step " + WithCommas(event.steps) +
                                      ": " + RateText(steps / seconds) + " steps/s, " +
                                      FormatNumber("%.3g", batches_ / seconds) + " batches/s");
    }
    since_ns_ = event.at_ns;
    steps_ = event.steps;
    batches_ = 0;
    return {};
  }

 private:
  const HookTools tools_;
  HookClock clock_;
  std::int64_t since_ns_ = 0;
  std::uint64_t steps_ = 0;
  double batches_ = 0;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  const StepCounterSettings settings = StepCounterKeys().Read(keys);
  MURMURATE_RETURN_IF_ERROR(NeedsTimes(keys, settings.times));
  return std::unique_ptr<Hook>(std::make_unique<StepCounterHook>(settings.times, tools));
}

}  // namespace

HookKind StepCounterHookKind() { return {"step_counter", RulesOf<StepCounterKeys>, Make}; }

}  // namespace murmurate
