// summary_saver: keeps named metrics, every so many steps or seconds of each model, and at the end
// those of the run's first model, in a file of its own in the run's folder: hooks/NAME.csv. A
// resumed run goes on writing at its end, if it has the same metrics.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

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
        tools_(tools),
        folder_(tools.folder + "/hooks"),
        path_(folder_ + '/' + tools.name + ".csv"),
        clocks_(settings_.times) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }

  Status Start(std::int64_t) override {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    std::string header = "model,steps", found;
    for (const std::string& metric : settings_.metrics) header += ',' + metric;
    std::ifstream file(path_);
    if (!std::getline(file, found)) return Append(header);
    if (found == header) return {};
    return InvalidData(path_ + ": its columns are \"" + found + "\", expected \"" + header +
                       "\"; give this hook another name, or move the file away");
  }

  Status OnEvent(const HookEvent& event) override {
    std::uint64_t& last_steps = last_steps_[event.model];
    if (event.moment == HookMoment::kEnd ? !tools_.OwnEnd(event) || last_steps == event.steps
                                         : !clocks_.Due(event.model, event.steps, event.at_ns))
      return {};
    last_steps = event.steps;
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
  const HookTools tools_;
  const std::string folder_, path_;
  HookClocks clocks_;
  std::map<std::string, std::uint64_t> last_steps_;  ///< of the newest row of each model
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

HookKind SummarySaverHookKind() { return {"summary_saver", RulesOf<SummarySaverKeys>, Make, true}; }

}  // namespace murmurate
