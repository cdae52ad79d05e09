// murmurate export RUN|CHECKPOINT: a policy as one file, to ship with a game.
#include <cstdio>
#include <filesystem>

#include "server/command/choose_checkpoint.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// RUN/export/NAME.policy of the run that the checkpoint is of.
Result<std::string> UsualOutput(const ChosenPlace& place) {
  if (place.run.empty())
    return InvalidArgument(place.folder +
                           ": lies in no run, so nothing says where its policy goes; say it with "
                           "-o FILE");
  std::error_code error;
  const fs::path run = fs::canonical(place.run, error);
  fs::create_directories(run / "export", error);
  if (error)
    return ResourceError((run / "export").string() + ": " + error.message() +
                         "; make it, or name a file elsewhere with -o");
  return (run / "export" / (run.filename().string() + ".policy")).string();
}

}  // namespace

Result<int> RunExport(const CommonArguments& common, const ExportArguments& arguments) {
  const auto place = FindPlace(common, arguments.place);
  if (!place.ok()) return place.status();
  const auto found = ChooseCheckpoint(*place, arguments.best);
  if (!found.ok()) return found.status();
  std::string output = arguments.output;
  if (output.empty()) {
    auto usual = UsualOutput(*place);
    if (!usual.ok()) return usual.status();
    output = *std::move(usual);
  }
  const WeightsFile& weights = found->checkpoint.weights;
  const std::string bytes = FormatWeightsFile(weights, /*published_only=*/true);
  MURMURATE_RETURN_IF_ERROR(
      WriteFileAtomically(output, std::as_bytes(std::span<const char>(bytes))));
  if (!common.quiet)
    std::printf("%s: the policy of step %s of %s, %s bytes\n", output.c_str(),
                WithCommas(weights.steps).c_str(), found->folder.c_str(),
                WithCommas(bytes.size()).c_str());
  return 0;
}

}  // namespace murmurate
