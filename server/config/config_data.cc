// [data] and [record]: what a run learns from instead of actors, and what it keeps of them.
#include <climits>

#include "server/config/algorithm_defaults.h"
#include "server/config/config.h"
#include "server/config/config_checks.h"
#include "server/data/data_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/parameters/parameters_settings.h"

namespace murmurate {
namespace {

/// What labels have no use for.
constexpr const char* kOfRewards[] = {
    "gamma", "lambda",  "reward_scale", "reward_clip", "normalize_reward", "value_weight",
    "clip",  "entropy", "target_kl",    "staleness",   "max_staleness"};

/// Which part of the files this learner reads. One of a parameter server beyond the expected ones
/// reads as one of them does.
FeedPart PartOf(const Config& config, bool divide) {
  const auto parameters = config.Read(ParametersKeys());
  const bool shares = parameters.shared();
  const auto learners =
      static_cast<std::uint64_t>(shares ? parameters.workers : config.run().ranks);
  const auto learner = static_cast<std::uint64_t>(shares ? parameters.worker : config.run().rank);
  if (learners == 1) return {};
  if (!divide) return {.of_several = true};
  return {learner % learners, learners, true};
}

}  // namespace

DataSettings Config::data() const {
  DataSettings data = Read(DataKeys());
  if (run_.follows()) data.passes = INT_MAX;
  data.part = PartOf(*this, data.divide);
  return data;
}

Status CheckData(const Config& config) {
  const DataSettings data = config.data();
  const SectionView keys = DataKeys().View(config.entries());
  if (!data.given() && data.arrays.labels.empty()) {
    if (data.holdout <= 0.0 && data.holdout_path.empty()) return {};
    return keys.Blame(data.holdout > 0.0 ? "holdout" : "holdout_path",
                      "holds out files only, and none are named; samples that clients send are "
                      "scored before they are learned from, so take the line out");
  }
  if (data.holdout > 0.0 && !data.holdout_path.empty())
    return keys.Blame(
        "holdout_path",
        "names what is scored beside data.holdout, a share that is; take one of them out");
  const bool has_observations = !data.arrays.observations.empty();
  const bool has_labels = !data.arrays.labels.empty();
  if (!data.recording.empty() && (has_observations || has_labels))
    return keys.Blame("path",
                      "names a recording beside data.observations or data.labels, and a run learns "
                      "from one of them; take the other out");
  if (data.recording.empty() && !has_labels)
    return keys.Blame("observations",
                      "has no data.labels beside it; write for example labels = \"y.npy\"");
  if (data.recording.empty() && !has_observations)
    return keys.Blame("labels",
                      "has no data.observations beside it; write for example observations = "
                      "\"x.npy\"");
  const std::string& name = config.AlgorithmNameFor();
  if (!LearnsLabels(AlgorithmNamed(name).value_or(AlgorithmName::kPpo)))
    return AlgorithmKeys()
        .View(config.entries())
        .Refuse("name",
                "\"bc\" or \"supervised\", because files were not made by the policy that learns, "
                "and " +
                    name + " learns from its own play; write name = \"bc\", or take [data] out");
  if (config.run().stop_at_return)
    return RunKeys()
        .View(config.entries())
        .Blame(
            "stop_at_return",
            "no episodes are played while files are learned from; take the line out, and score the "
            "weights with `murmurate eval`");
  return {};
}

Status Config::CheckLabels(const std::string& model) const {
  const std::string& name = AlgorithmNameFor(model);
  if (!LearnsLabels(AlgorithmNamed(name).value_or(AlgorithmName::kPpo))) return {};
  for (const char* key : kOfRewards) {
    const ConfigEntry* entry = Written(key, model);
    if (entry == nullptr || entry->value == DefaultOf(*Schema().Find("algorithm", key), name).value)
      continue;
    return InvalidArgument(entry->origin + ": " + PathOf("algorithm", key, model) + ": got " +
                           ToToml(entry->value) + ", expected no such line, because " + name +
                           " learns what was done and knows no rewards, values or staleness; take "
                           "it out");
  }
  return {};
}

}  // namespace murmurate
