// stop_at_loss: ends the run when a loss, as a mean over the last batches, is as small as a value.
#include <deque>
#include <numeric>

#include "server/hooks/kinds.h"
#include "server/hooks/stop_by_metric.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct StopAtLossSettings {
  std::optional<double> value;
  std::string metric = "train/loss";
  int batches = 10;
};

const Keys<StopAtLossSettings>& StopAtLossKeys() {
  using namespace keys;
  using S = StopAtLossSettings;
  static const Keys<S> kKeys(
      "hook.stop_at_loss",
      {{"value", &S::value, "the loss that ends the run", Example("0.05")},
       {"metric", &S::metric, "a column of progress.csv: train/loss is that of labels",
        Example("\"train/value_loss\"")},
       {"batches", &S::batches, "over whose mean it is taken", Range(1, 100'000)}});
  return kKeys;
}

class StopAtLossHook : public StopByMetric {
 public:
  StopAtLossHook(StopAtLossSettings settings, const HookTools& tools)
      : StopByMetric(settings.metric, tools), settings_(std::move(settings)) {}

 private:
  std::string WhyStop(double loss, std::uint64_t steps) override {
    last_.push_back(loss);
    const auto batches = static_cast<std::size_t>(settings_.batches);
    if (last_.size() > batches) last_.pop_front();
    const double mean =
        std::accumulate(last_.begin(), last_.end(), 0.0) / static_cast<double>(last_.size());
    if (last_.size() < batches || mean > *settings_.value) return "";
    return settings_.metric + ' ' + FormatNumber("%.4g", mean) + " over " +
           std::to_string(batches) + " batches is at most " +
           FormatNumber("%.4g", *settings_.value) + " at step " + WithCommas(steps);
  }

  const StopAtLossSettings settings_;
  std::deque<double> last_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  StopAtLossSettings settings = StopAtLossKeys().Read(keys);
  if (!settings.value) return RefuseHook(keys, "value is not set; write for example value = 0.05");
  return std::unique_ptr<Hook>(std::make_unique<StopAtLossHook>(std::move(settings), tools));
}

}  // namespace

HookKind StopAtLossHookKind() { return {"stop_at_loss", RulesOf<StopAtLossKeys>, Make}; }

}  // namespace murmurate
