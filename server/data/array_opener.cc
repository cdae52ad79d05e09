#include "server/data/array_opener.h"

#include <sys/stat.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "server/data/array_shards.h"
#include "server/data/csv_table.h"
#include "server/data/hdf5_plug_in.h"
#include "server/data/npy_file.h"

namespace murmurate {
namespace {

using Opened = Result<std::unique_ptr<SampleArray>>;

Opened OpenNpy(const ArrayPath& path, ArrayUse) {
  Result<NpyFile> file = NpyFile::Open(path.file);
  if (!file.ok()) return file.status();
  return Opened(std::make_unique<NpyFile>(*std::move(file)));
}

Opened OpenNpyPart(const ArrayPath& path, ArrayUse use) {
  if (path.part.empty()) return OpenNpy(path, use);
  return InvalidArgument(path.file + ':' + path.part +
                         ": a .npy file holds one array, so nothing follows its name; write " +
                         path.file);
}

Opened OpenHdf5(const ArrayPath& path, ArrayUse) { return hdf5::Open(path.file, path.part); }

Opened OpenCsv(const ArrayPath& path, ArrayUse use) {
  return CsvTable::Open(path.file, path.part, use == ArrayUse::kLabels);
}

Opened Convert(const ArrayPath& path, ArrayUse) {
  return InvalidArgument(path.file +
                         ": is of a kind that is not read as it is; write it as .npy files with "
                         "`python3 -m murmurate.arrays " +
                         path.file + " --to folder`");
}

struct Kind {
  std::string_view ending;
  Opened (*open)(const ArrayPath& path, ArrayUse use);
};
constexpr Kind kKinds[] = {{".npy", OpenNpyPart}, {".h5", OpenHdf5},     {".hdf5", OpenHdf5},
                           {".csv", OpenCsv},     {".parquet", Convert}, {".npz", Convert}};

bool Exists(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0;
}

}  // namespace

ArrayPath SplitArrayPath(const std::string& path) {
  if (Exists(path)) return {path, ""};
  std::size_t end = std::string::npos;  // behind the ending that stands first
  for (const Kind& kind : kKinds) {
    const std::size_t at = path.find(std::string(kind.ending) + ':');
    if (at != std::string::npos) end = std::min(end, at + kind.ending.size());
  }
  if (end == std::string::npos) return {path, ""};
  return {path.substr(0, end), path.substr(end + 1)};
}

Opened OpenArray(const std::string& path, ArrayUse use) {
  const ArrayPath split = SplitArrayPath(path);
  if (IsPattern(split.file) && !Exists(split.file))
    return ArrayShards::Open(split.file, split.part,
                             [use](const std::string& one) { return OpenArray(one, use); });
  for (const Kind& kind : kKinds)
    if (split.file.ends_with(kind.ending)) return kind.open(split, use);
  return OpenNpy(split, use);
}

}  // namespace murmurate
