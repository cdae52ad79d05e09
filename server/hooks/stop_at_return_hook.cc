// stop_at_return: ends the run when a mean return reaches a value: that of the last 100 training
// episodes, of which so many have finished in all, or that of the newest evaluation.
#include "server/hooks/kinds.h"
#include "server/hooks/named_metrics.h"
#include "server/hooks/stopping.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct StopAtReturnSettings {
  std::optional<double> value;
  std::string metric = std::string(kMeanReturn.name);
  int episodes = 100;
};

const Keys<StopAtReturnSettings>& StopAtReturnKeys() {
  using namespace keys;
  using S = StopAtReturnSettings;
  static const Keys<S> kKeys(
      "hook.stop_at_return",
      {{"value", &S::value, "the mean return that ends the run", Example("475")},
       {"metric", &S::metric, "of training, or of evaluations",
        Choices({std::string(kMeanReturn.name), std::string(kEvalReturn.name)})},
       {"episodes", &S::episodes, "training episodes that have finished before it counts",
        Range(1, 1e9)}});
  return kKeys;
}

class StopAtReturnHook : public Hook {
 public:
  StopAtReturnHook(StopAtReturnSettings settings, const HookTools& tools)
      : settings_(std::move(settings)), stopping_(tools) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }
  std::string done() const override { return stopping_.done(); }

  Status OnEvent(const HookEvent& event) override {
    const auto mean = NumberIn(event, settings_.metric);
    const std::uint64_t episodes = event.reading.Count(kEpisodeCount);
    const bool counts = episodes >= static_cast<std::uint64_t>(settings_.episodes);
    if (event.moment == HookMoment::kAfterBatch && counts && mean && *mean >= *settings_.value)
      stopping_.Stop(settings_.metric + ' ' + ReturnText(*mean) + " has reached " +
                     ReturnText(*settings_.value) + " at step " + WithCommas(event.steps));
    return {};
  }

 private:
  const StopAtReturnSettings settings_;
  Stopping stopping_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  StopAtReturnSettings settings = StopAtReturnKeys().Read(keys);
  if (!settings.value) return RefuseHook(keys, "value is not set; write for example value = 475");
  return std::unique_ptr<Hook>(std::make_unique<StopAtReturnHook>(std::move(settings), tools));
}

}  // namespace

HookKind StopAtReturnHookKind() { return {"stop_at_return", RulesOf<StopAtReturnKeys>, Make}; }

}  // namespace murmurate
