#include "server/data/data_settings.h"

#include "server/schema/settings_keys.h"

namespace murmurate {
namespace {

/// "name: path", or a path alone.
std::vector<NamedPath> PathsIn(const ConfigValue& value) {
  std::vector<NamedPath> paths;
  for (const std::string& text : std::get<std::vector<std::string>>(value)) {
    const std::size_t colon = text.find(": ");
    paths.push_back(colon == std::string::npos
                        ? NamedPath{"", text}
                        : NamedPath{text.substr(0, colon), text.substr(colon + 2)});
  }
  return paths;
}

}  // namespace

const Keys<DataSettings>& DataKeys() {
  using namespace keys;
  using S = DataSettings;
  const auto path = Kind(ValueKind::kPath);
  static const Keys<S> kKeys(
      "data",
      {{"path", &S::recording,
        "learn from this folder of recorded trajectories as labels, with no actor", path,
        Example("\"recordings\"")},
       {"observations", ValueKind::kPaths, ConfigValue(),
        [](const ConfigValue& value, S* s) { s->arrays.observations = PathsIn(value); },
        "or from arrays: one, or a list of \"name: path\"", Example("\"x.npy\"")},
       {"labels", ValueKind::kPaths, ConfigValue(),
        [](const ConfigValue& value, S* s) { s->arrays.labels = PathsIn(value); },
        "what is right for them", Example("\"y.npy\"")},
       {"example", &S::example,
        "both are those of this example, and are made where they are missing",
        Example("\"parabola\"")},
       {"classes", In(&S::arrays, &ArrayFiles::classes),
        "of labels that are integers; usual: all there are", Unset(), Example("10"),
        Range(2, 4096)},
       {"passes", &S::passes, "over this learner's part of it, then the run ends",
        Range(1, 1 << 30)},
       {"holdout", &S::holdout, "share that is scored and never learned from", Example("0.1"),
        Range(0, 0.9)},
       {"holdout_path", &S::holdout_path,
        "or score this folder's recordings, or its arrays of the same names", path,
        Example("\"test\"")},
       {"divide", &S::divide, "each of several learners reads a part of its own; usual: true",
        Unset(), Example("false")},
       {"threads", &S::threads, "that shuffle and fill the next batches", Example("2"),
        Range(1, 64)}});
  return kKeys;
}

const Keys<RecordingSettings>& RecordKeys() {
  using namespace keys;
  using S = RecordingSettings;
  static const Keys<S> kKeys(
      "record", {{"path", &S::folder, "keep what actors send in this folder",
                  Kind(ValueKind::kPath), Example("\"recordings\"")},
                 {"max_bytes", &S::max_bytes, "of a model's files; the oldest go first",
                  Range(1 << 20, kMany)}});
  return kKeys;
}

}  // namespace murmurate
