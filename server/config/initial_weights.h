// InitialWeights: the file that a new model begins with ([model] initialize_from): partial loading
// by name and shape (shared/model/weights_match.h), with a report of what matched.
// A checkpoint's folder is good too; whatever lies beside a MANIFEST.json is verified first. Tensors of
// PyTorch are turned into our layout (initialize_layout), those of other names by initialize_map
// (server/exchange/name_map.h).
//
// Files are read once, before anything starts: `serve --fresh` may move the run aside that holds
// one. What matches is known when a model is made for the spaces of its first actor; `train` and
// `check`, which know the spaces, judge it before that.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/exchange/foreign_tensors.h"
#include "shared/model/weights_match.h"

namespace murmurate {

struct InitialFile {
  std::string
      path;  ///< a safetensors file or a checkpoint's folder; "": the model begins without one
  std::string origin;  ///< how a message names the setting: "c.toml:4: model.initialize_from"
  TensorLayout layout = TensorLayout::kAuto;
  std::string map_path;    ///< of the file with the names; "": tensors have ours
  std::string map_origin;  ///< "c.toml:5: model.initialize_map"
  std::string layout_origin = {};

  /// Whether any of the settings is set.
  bool named() const { return !path.empty() || !map_path.empty() || layout != TensorLayout::kAuto; }
};

/// InitialFiles are the files that were read, by path.
struct InitialFiles {
  std::map<std::string, std::shared_ptr<const SafetensorsFile>> weights;
  std::map<std::string, NameMap> maps;
};

/// Reads the files that are named; one sentence that begins with the setting's origin when one is
/// missing or no safetensors.
Result<InitialFiles> ReadInitialFiles(const std::vector<InitialFile>& named);

struct InitialWeights {
  std::shared_ptr<const SafetensorsFile> file;
  WeightsMatch match;
  /// "initialize_from FILE: 7 of 9 tensors (12,345 of 12,400 numbers) taken; not in the file: ...;
  /// of another shape: ...; not used: ..."
  std::string report;
};

/// Matches one of the files read to a model; a sentence when it is of no use to it.
Result<InitialWeights> MatchInitialFile(const InitialFile& from, const InitialFiles& files,
                                        const ModelSpec& spec);

}  // namespace murmurate
