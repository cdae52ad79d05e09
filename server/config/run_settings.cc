#include "server/config/run_settings.h"

#include <algorithm>
#include <thread>

#include "client/environments/environment.h"
#include "server/schema/settings_keys.h"

namespace murmurate {

constexpr EnumName<OnCollapse> kOnCollapseNames[] = {
    {OnCollapse::kReturn, "return"}, {OnCollapse::kSay, "say"}, {OnCollapse::kOff, "off"}};
constexpr std::span<const EnumName<OnCollapse>> NamesOf(OnCollapse) { return kOnCollapseNames; }

/// hardware_concurrency() is 0 where the system does not say.
int DefaultActors() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) - 1, 2, 4096);
}

std::uint64_t RunSettings::most_steps() const {
  if (follows()) return UINT64_MAX;
  return std::min(stop_at_steps.value_or(UINT64_MAX), steps.value_or(UINT64_MAX));
}

void RunSettings::ShareAmong(int others) {
  const auto count = static_cast<std::uint64_t>(others);
  actors = std::max(1, actors / others);
  for (auto* share : {&steps, &stop_at_steps})
    if (*share) *share = (**share + count - 1) / count;
}

const Keys<RunSettings>& RunKeys() {
  using namespace keys;
  using S = RunSettings;
  static const Keys<S> kKeys(
      "run",
      {{"name", &S::name, "the run's folder; the config's file name", Example("\"cartpole\"")},
       {"dir", &S::dir, "where run folders lie"},
       {"seed", &S::seed, "of initial weights, minibatches and actors", Range(0, kMany)},
       {"environment", &S::environment, "what `train` and `eval` play", Example("\"cartpole\"")},
       {"actors", &S::actors,
        "actor processes that `train` starts; usual: processors less one, at least 2", Unset(),
        Example("2"), Range(1, 4096)},
       {"agents", &S::agents, "agents in each of them, played in one pass", Range(1, 4096)},
       {"learners", &S::learners, "learners that `train` starts around one model", Example("3"),
        Range(1, 1024)},
       {"shards", &S::shards,
        "processes of their parameter server; 0: one if there are several learners", Example("2"),
        Range(0, 1024)},
       {"steps", &S::steps, "learned from: budget and horizon of schedules", Example("100000"),
        Range(1, kMany)},
       {"stop_at_return", &S::stop_at_return,
        "end at this mean of 100 episodes; from a replay also at that of an evaluation",
        Example("475")},
       {"stop_at_steps", &S::stop_at_steps, "learned from: end here, schedules unchanged",
        Example("50000"), Range(1, kMany)},
       {"on_collapse", &S::on_collapse,
        "a policy that lost what it had learned: return to its best weights at half the rate, or "
        "only say so"},
       {"log_interval_s", &S::log_interval_s, "seconds between rows of progress.csv",
        Range(0.001, 86400)},
       {"max_disk", &S::max_disk,
        "of the run's folder: above it old checkpoints, recordings and logs are deleted",
        Kind(ValueKind::kBytes), Example("\"10GB\""), Range(1e6, kMany)}});
  return kKeys;
}

const Keys<EnvironmentOptions>& EnvironmentKeys() {
  using namespace keys;
  using S = EnvironmentOptions;
  static const Keys<S> kKeys("environment", [] {
    std::vector<Key<S>> all;
    for (const EnvironmentOption& option : AllEnvironmentOptions()) {
      const std::string usual = NumberText(S().*option.value);
      const std::string meaning = option.MeaningInWords() + "; usual: " + usual;
      all.push_back({option.name, option.value, meaning, Unset(), Example(usual),
                     Kind(option.whole ? ValueKind::kInteger : ValueKind::kNumber),
                     Range(option.low, option.high)});
    }
    return all;
  }());
  return kKeys;
}

}  // namespace murmurate
