// [data]: what a run learns from instead of actors.
#include <algorithm>

#include "server/config/algorithm_defaults.h"
#include "server/config/config_checks.h"
#include "server/data/data_settings.h"
#include "server/learn/algorithm_keys.h"
#include "server/learn/algorithms.h"

namespace murmurate {
namespace {

/// The algorithms that learn from files, in the order of their names.
std::vector<std::string> NamesForFiles() {
  std::vector<std::string> names;
  for (const AlgorithmKind* kind : Algorithms())
    if (!kind->own_play) names.push_back(kind->name);
  std::ranges::sort(names);
  return names;
}

/// Of an algorithm that learns from recordings alone.
Status CheckRecordings(const Config& config, const AlgorithmKind& kind) {
  const DataSettings data = config.data();
  const SectionView keys = DataKeys().View(config.entries());
  const std::string has = kind.name + " learns from recorded steps with their rewards";
  if (data.recording.empty())
    return AlgorithmKeys()
        .View(config.entries())
        .Blame("name", "is given without a recording, and " + has +
                           "; write for example path = \"recordings\" in [data]");
  if (data.holdout > 0.0 || !data.holdout_path.empty())
    return keys.Blame(data.holdout > 0.0 ? "holdout" : "holdout_path",
                      "holds out labels to be scored, and " + has +
                          "; take the line out, and name a game in run.environment, which is "
                          "played to evaluate the policy");
  return {};
}

}  // namespace

Status CheckData(const Config& config) {
  const DataSettings data = config.data();
  const SectionView keys = DataKeys().View(config.entries());
  if (const AlgorithmKind& kind = KindFor(config.entries(), ""); kind.from_recordings)
    MURMURATE_RETURN_IF_ERROR(CheckRecordings(config, kind));
  if (!data.given() && data.arrays.labels.empty() && !data.example) {
    if (data.holdout <= 0.0 && data.holdout_path.empty()) return {};
    return keys.Blame(data.holdout > 0.0 ? "holdout" : "holdout_path",
                      "holds out files only, and none are named; samples that clients send are "
                      "scored before they are learned from, so take the line out");
  }
  if (data.example && (data.arrays.observations.size() != 1 || data.arrays.labels.size() != 1))
    return keys.Blame("example",
                      "makes two arrays, so it needs one name in data.observations and one in "
                      "data.labels; write for example observations = \"x.npy\" and labels = "
                      "\"y.npy\", or take the line out");
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
  if (const AlgorithmKind& kind = KindFor(config.entries()); kind.own_play) {
    const std::vector<std::string> names = NamesForFiles();
    std::string list;
    for (const std::string& one : names) list += (list.empty() ? "\"" : " or \"") + one + '"';
    return AlgorithmKeys()
        .View(config.entries())
        .Refuse("name", list + ", because files were not made by the policy that learns, and " +
                            kind.name + " learns from its own play; write name = \"" +
                            names.front() + "\", or take [data] out");
  }
  if (config.run().stop_at_return)
    return RunKeys()
        .View(config.entries())
        .Blame(
            "stop_at_return",
            "no episodes are played while files are learned from; take the line out, and score the "
            "weights with `murmurate eval`");
  return {};
}

}  // namespace murmurate
