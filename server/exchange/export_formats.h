// ExportFormat: a kind of file that `murmurate export` writes. A new one is a file of its own and a
// row of export_formats.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/model/weights_file.h"

namespace murmurate {

struct ExportOptions {
  /// Networks besides the policy, by name; "all": every one that is no target.
  std::vector<std::string> networks;
};

struct ExportFormat {
  const char* name;    ///< of --format
  const char* ending;  ///< of its files, with the dot
  const char* what;    ///< for the help
  /// The bytes of the file. `networks`: of the model, none of them twice, the policy or a target.
  Result<std::string> (*format)(const WeightsFile& file, const std::vector<std::string>& networks);
  bool policy_alone = false;  ///< it takes no other networks
};

/// All formats; the first is the usual one.
std::span<const ExportFormat> ExportFormats();

/// The bytes of a file in this format. kInvalidArgument: the model has no policy, or there are
/// networks that it lacks or that the format cannot have.
Result<std::string> FormatExport(const ExportFormat& format, const WeightsFile& file,
                                 const ExportOptions& options);

}  // namespace murmurate
