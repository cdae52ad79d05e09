// logging: writes named metrics into the log every so many steps or seconds of each model, and at
// the end those of the run's first model.
#include "server/hooks/kinds.h"
#include "server/hooks/named_metrics.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct LoggingSettings {
  std::vector<std::string> metrics = {"rollout/ep_rew_mean", "rollout/episodes", "train/loss",
                                      "train/value_loss", "time/fps"};
  bool at_end = true;
  HookTimes times;
};

const Keys<LoggingSettings>& LoggingKeys() {
  using S = LoggingSettings;
  static const Keys<S> kKeys(
      "hook.logging", WithTimes<S>({{"metrics", &S::metrics, "names of columns of progress.csv"},
                                    {"at_end", &S::at_end, "once more when the run ends"}}));
  return kKeys;
}

class LoggingHook : public Hook {
 public:
  LoggingHook(LoggingSettings settings, HookTools tools)
      : settings_(std::move(settings)), tools_(std::move(tools)), clocks_(settings_.times) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }

  Status OnEvent(const HookEvent& event) override {
    const bool end = event.moment == HookMoment::kEnd;
    if (end ? !settings_.at_end || !tools_.OwnEnd(event)
            : !clocks_.Due(event.model, event.steps, event.at_ns))
      return {};
    const std::string numbers = NumbersInWords(event, settings_.metrics);
    tools_.log(LogLevel::kInfo,
               "hook " + tools_.name + ": model " + event.model +
                   (end ? ", at the end, step " : ", step ") + WithCommas(event.steps) + ": " +
                   (numbers.empty() ? "none of its metrics has a value" : numbers));
    return {};
  }

 private:
  const LoggingSettings settings_;
  const HookTools tools_;
  HookClocks clocks_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  LoggingSettings settings = LoggingKeys().Read(keys);
  if (!settings.at_end) MURMURATE_RETURN_IF_ERROR(NeedsTimes(keys, settings.times));
  return std::unique_ptr<Hook>(std::make_unique<LoggingHook>(std::move(settings), tools));
}

}  // namespace

HookKind LoggingHookKind() { return {"logging", RulesOf<LoggingKeys>, Make, true}; }

}  // namespace murmurate
