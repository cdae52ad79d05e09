// summary_saver: keeps named metrics, every so many steps or seconds and at the end, in a file of
// its own in the run's folder: hooks/NAME.csv. A resumed run goes on writing at its end.
#include <cstdio>
#include <filesystem>

#include "server/hooks/kinds.h"
#include "server/hooks/named_metrics.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct SummarySaverSettings {
  std::vector<std::string> metrics = {};
  HookTimes times;
};

const Keys<SummarySaverSettings>& SummarySaverKeys() {
  using namespace keys;
  using S = SummarySaverSettings;
  static const Keys<S> kKeys(
      "hook.summary_saver",
      WithTimes<S>({{"metrics", &S::metrics, "names of columns of progress.csv",
                     Example("[\"rollout/ep_rew_mean\"]")}}));
  return kKeys;
}

class SummarySaverHook : public Hook {
 public:
  SummarySaverHook(SummarySaverSettings settings, const HookTools& tools)
      : settings_(std::move(settings)),
        folder_(tools.folder + "/hooks"),
        path_(folder_ + '/' + tools.name + ".csv"),
        clock_(settings_.times) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }

  Status Start(std::int64_t) override {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    const bool empty = !std::filesystem::exists(path_) || std::filesystem::is_empty(path_, error);
    std::string header = "model,steps";
    for (const std::string& metric : settings_.metrics) header += ',' + metric;
    return empty ? Append(header) : Status();
  }

  Status OnEvent(const HookEvent& event) override {
    const bool end = event.moment == HookMoment::kEnd && last_steps_ != event.steps;
    if (event.moment == HookMoment::kEnd ? !end : !clock_.Due(event.steps, event.at_ns)) return {};
    last_steps_ = event.steps;
    std::string row = event.model + ',' + std::to_string(event.steps);
    for (const std::string& metric : settings_.metrics) {
      const auto number = NumberIn(event, metric);
      row += ',' + (number ? FormatNumber("%.9g", *number) : "");
    }
    return Append(row);
  }

 private:
  Status Append(const std::string& row) {
    std::FILE* const file = std::fopen(path_.c_str(), "ae");
    const bool written = file != nullptr && std::fputs((row + '\n').c_str(), file) >= 0;
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (written && closed) return {};
    return ResourceError(path_ + ": a row could not be written; free some disk");
  }

  const SummarySaverSettings settings_;
  const std::string folder_, path_;
  HookClock clock_;
  std::uint64_t last_steps_ = 0;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  SummarySaverSettings settings = SummarySaverKeys().Read(keys);
  MURMURATE_RETURN_IF_ERROR(NeedsTimes(keys, settings.times));
  if (settings.metrics.empty())
    return RefuseHook(keys,
                      "metrics is empty; write for example metrics = [\"rollout/ep_rew_mean\"]");
  return std::unique_ptr<Hook>(std::make_unique<SummarySaverHook>(std::move(settings), tools));
}

}  // namespace

HookKind SummarySaverHookKind() { return {"summary_saver", RulesOf<SummarySaverKeys>, Make}; }

}  // namespace murmurate
