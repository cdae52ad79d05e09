// murmurate export RUN|CHECKPOINT: a policy as one file, to ship with a game.
#include <cstdio>
#include <filesystem>

#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// RUN/export/NAME.policy of the run that the checkpoint is of.
Result<std::string> DefaultOutput(const CheckpointSource& source) {
  if (source.run.empty())
    return InvalidArgument(source.folder +
                           ": lies in no run, so nothing says where its policy goes; say it with "
                           "-o FILE");
  std::error_code error;
  const fs::path run = fs::canonical(source.run, error);
  fs::create_directories(run / "export", error);
  if (error)
    return ResourceError((run / "export").string() + ": " + error.message() +
                         "; make it, or name a file elsewhere with -o");
  return (run / "export" / (run.filename().string() + ".policy")).string();
}

struct ExportArguments {
  std::string source;  ///< a run or a checkpoint
  bool best = false;
  std::string output;  ///< "": RUN/export/NAME.policy
};

Result<int> RunExport(const CommonArguments& common, const ExportArguments& arguments) {
  const auto source = FindCheckpointSource(common, arguments.source);
  if (!source.ok()) return source.status();
  const auto found = ChooseCheckpoint(*source, arguments.best);
  if (!found.ok()) return found.status();
  std::string output = arguments.output;
  if (output.empty()) {
    auto path = DefaultOutput(*source);
    if (!path.ok()) return path.status();
    output = *std::move(path);
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

}  // namespace

void AddExport(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<ExportArguments>();
  auto* command = app->add_subcommand(
      "export", "A run's newest good policy as one file, which a game plays without a learner");
  command
      ->add_option("RUN", given->source,
                   "A run directory, a name under run.dir, or one checkpoint's folder")
      ->required();
  command->add_flag("--best", given->best, "The weights that evaluated best instead");
  // The only one so far; said so that scripts hold when there are others.
  command->add_option("--format", "policy: what Client::Open and mmr_open read")
      ->check(CLI::IsMember({"policy"}))
      ->default_str("policy");
  command->add_option("-o,--output", given->output, "The file; without it RUN/export/NAME.policy");
  line->Choose(command, RunExport, given);
}

}  // namespace murmurate
