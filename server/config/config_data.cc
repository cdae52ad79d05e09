// [data] and [record]: what a run learns from instead of actors, and what it keeps of them.
#include <algorithm>
#include <climits>

#include "server/config/config.h"
#include "server/learn/algorithms.h"

namespace murmurate {
namespace {

using Strings = std::vector<std::string>;

/// "name: path", or a path alone.
std::vector<NamedPath> PathsIn(const ConfigValue& value) {
  std::vector<NamedPath> paths;
  const auto* list = std::get_if<Strings>(&value);
  if (list == nullptr) return paths;
  for (const std::string& text : *list) {
    const std::size_t colon = text.find(": ");
    paths.push_back(colon == std::string::npos
                        ? NamedPath{"", text}
                        : NamedPath{text.substr(0, colon), text.substr(colon + 2)});
  }
  return paths;
}

/// The algorithms that learn from files, in the order of their names.
std::vector<std::string> NamesForFiles() {
  std::vector<std::string> names;
  for (const AlgorithmKind* kind : Algorithms())
    if (!kind->own_play) names.push_back(kind->name);
  std::ranges::sort(names);
  return names;
}

}  // namespace

DataSettings Config::data() const {
  const auto text = [this](const char* key) {
    const auto* value = std::get_if<std::string>(&Get("data", key).value);
    return value == nullptr ? std::string() : *value;
  };
  DataSettings data;
  data.recording = text("path");
  data.arrays.observations = PathsIn(Get("data", "observations").value);
  data.arrays.labels = PathsIn(Get("data", "labels").value);
  data.arrays.classes = As<std::int64_t>(Get("data", "classes").value).value_or(0);
  data.passes = run_.follows() ? INT_MAX : AsInt(Get("data", "passes").value);
  data.threads = AsInt(Get("data", "threads").value);
  data.holdout = std::get<double>(Get("data", "holdout").value);
  data.holdout_path = text("holdout_path");
  data.part = FilesPart();
  return data;
}

/// A learner of a parameter server beyond the expected ones reads as one of them does.
FeedPart Config::FilesPart() const {
  const auto integer = [this](const char* key) {
    return static_cast<std::uint64_t>(AsInt(Get("parameters", key).value));
  };
  const bool shares = shares_parameters();
  const std::uint64_t learners =
      shares ? integer("workers") : static_cast<std::uint64_t>(run_.ranks);
  const std::uint64_t learner = shares ? integer("worker") : static_cast<std::uint64_t>(run_.rank);
  if (learners == 1) return {};
  if (!As<bool>(Get("data", "divide").value).value_or(true)) return {.of_several = true};
  return {learner % learners, learners, true};
}

RecordingSettings Config::recording() const {
  const auto* folder = std::get_if<std::string>(&Get("record", "path").value);
  const auto bytes = std::get<std::int64_t>(Get("record", "max_bytes").value);
  return {folder == nullptr ? "" : *folder, static_cast<std::uint64_t>(bytes)};
}

Status Config::CheckData() const {
  const DataSettings data = this->data();
  const auto refuse = [this](const char* section, const char* key, const std::string& what) {
    return InvalidArgument(Get(section, key).origin + ": " + section + '.' + key + ": " + what);
  };
  if (!data.given() && data.arrays.labels.empty()) {
    if (data.holdout <= 0.0 && data.holdout_path.empty()) return {};
    return refuse("data", data.holdout > 0.0 ? "holdout" : "holdout_path",
                  "holds out files only, and none are named; samples that clients send are scored "
                  "before they are learned from, so take the line out");
  }
  if (data.holdout > 0.0 && !data.holdout_path.empty())
    return refuse(
        "data", "holdout_path",
        "names what is scored beside data.holdout, a share that is; take one of them out");
  if (!data.recording.empty() && !(data.arrays.observations.empty() && data.arrays.labels.empty()))
    return refuse("data", "path",
                  "names a recording beside data.observations or data.labels, and a run learns "
                  "from one of them; take the other out");
  if (data.recording.empty() && data.arrays.labels.empty())
    return refuse("data", "observations",
                  "has no data.labels beside it; write for example labels = \"y.npy\"");
  if (data.recording.empty() && data.arrays.observations.empty())
    return refuse("data", "labels",
                  "has no data.observations beside it; write for example observations = "
                  "\"x.npy\"");
  if (const std::string& name = KindFor().name; KindFor().own_play) {
    const std::vector<std::string> names = NamesForFiles();
    std::string list;
    for (const std::string& one : names) list += (list.empty() ? "\"" : " or \"") + one + '"';
    return refuse("algorithm", "name",
                  "got \"" + name + "\", expected " + list +
                      ", because files were not made by the policy that learns, and " + name +
                      " learns from its own play; write name = \"" + names.front() +
                      "\", or take [data] out");
  }
  if (run_.stop_at_return)
    return refuse("run", "stop_at_return",
                  "no episodes are played while files are learned from; take the line out, and "
                  "score the weights with `murmurate eval`");
  return {};
}

}  // namespace murmurate
