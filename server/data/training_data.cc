#include "server/data/training_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "server/data/array_opener.h"
#include "server/data/open_play.h"
#include "server/data/split_source.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using Opened = Result<std::unique_ptr<DataSource>>;

template <typename T>
Opened AsSource(Result<std::unique_ptr<T>> opened) {
  if (!opened.ok()) return opened.status();
  return Opened(*std::move(opened));
}

Opened OpenFiles(const std::string& recording, const ArrayFiles& arrays, const Spaces* game) {
  return recording.empty() ? AsSource(ArraySource::Open(arrays)) : OpenPlay(recording, game);
}

/// The most that a label is learned to be one of: a test set may not hold all of them.
int ClassesOf(const Space& action) {
  int most = 0;
  for (int i = 0; i < action.leaf_count(); ++i) {
    most = std::max(most, action.leaf(i).n);
    for (const int choices : action.leaf(i).choices) most = std::max(most, choices);
  }
  return most;
}

/// The files of the same names in the other folder.
Result<ArrayFiles> ArraysIn(const std::string& folder, ArrayFiles arrays, const Space& action) {
  std::map<fs::path, std::string> taken;
  for (auto* paths : {&arrays.observations, &arrays.labels})
    for (NamedPath& named : *paths) {
      const ArrayPath path = SplitArrayPath(named.path);
      const fs::path name = fs::path(path.file).filename();
      const auto [other, first] = taken.emplace(name, path.file);
      if (!first && other->second != path.file)
        return InvalidArgument("data.holdout_path: " + folder + " can hold one " + name.string() +
                               ", but " + other->second + " and " + path.file +
                               " are both of that name; rename one, there and here");
      named.path = folder + '/' + name.string() + (path.part.empty() ? "" : ':' + path.part);
    }
  if (arrays.classes == 0) arrays.classes = ClassesOf(action);
  return arrays;
}

using Source = std::shared_ptr<DataSource>;

Result<Source> Divided(Source source, const DataSettings& settings) {
  if (DataFeed::LearnedItems(*source, settings.holdout) >= settings.part.of) return source;
  return InvalidData(source->Description() + ": too few to divide among " +
                     std::to_string(settings.part.of) +
                     " learners; take fewer (run.learners, or ranks of mpirun), or write divide = "
                     "false in [data]");
}

/// Checks that what is scored is not learned from.
Status CheckApart(const DataSource& learned, const DataSource& scored) {
  std::error_code error;
  for (const DataFile& one : learned.files())
    for (const DataFile& other : scored.files())
      if (fs::equivalent(one.path, other.path, error))
        return InvalidArgument("data.holdout_path: " + other.path +
                               ": is learned from, so a score on it says nothing; name a folder of "
                               "other files, or hold out a share with data.holdout");
  return {};
}

}  // namespace

Result<std::shared_ptr<DataSource>> OpenData(const DataSettings& settings, const Spaces* game) {
  std::shared_ptr<DataSource> source;
  if (!settings.given()) return source;
  Opened learned = OpenFiles(settings.recording, settings.arrays, game);
  if (!learned.ok()) return learned.status();
  if (!settings.holdout_path.empty()) {
    const std::string& folder = settings.holdout_path;
    auto arrays = ArraysIn(folder, settings.arrays, (*learned)->spaces().action);
    if (!arrays.ok()) return arrays.status();
    Opened scored = OpenFiles(settings.recording.empty() ? "" : folder, *arrays, game);
    if (!scored.ok()) return scored.status();
    MURMURATE_RETURN_IF_ERROR(CheckApart(**learned, **scored));
    auto split = SplitSource::Join(*std::move(learned), *std::move(scored));
    if (!split.ok()) return split.status();
    source = std::move(*split);
    return Divided(std::move(source), settings);
  }
  source = std::move(*learned);
  if (settings.holdout > 0.0 && source->items() < 2)
    return InvalidData(source->Description() + ": too few to hold some out; take data.holdout out");
  return Divided(std::move(source), settings);
}

}  // namespace murmurate
