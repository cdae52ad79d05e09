// murmurate export RUN|CHECKPOINT: a model as one file, to ship with a game or to play elsewhere.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"
#include "server/exchange/export_formats.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// RUN/export/NAME of the run that the checkpoint is of, with this ending.
Result<std::string> DefaultOutput(const CheckpointSource& source, const std::string& ending) {
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
  return (run / "export" / (run.filename().string() + ending)).string();
}

struct ExportArguments {
  std::string source;  ///< a run or a checkpoint
  bool best = false;
  std::string format = ExportFormats().front().name;
  ExportOptions options;
  std::string output;  ///< "": RUN/export/NAME and the format's ending
};

const ExportFormat& FormatOf(const std::string& name) {
  const auto formats = ExportFormats();
  const auto found = std::ranges::find(formats, name, &ExportFormat::name);
  MURMURATE_CHECK(found != formats.end(), "the command line takes formats that there are");
  return *found;
}

Result<int> RunExport(const CommonArguments& common, const ExportArguments& arguments) {
  const auto source = FindCheckpointSource(common, arguments.source);
  if (!source.ok()) return source.status();
  const auto found = ChooseCheckpoint(*source, arguments.best);
  if (!found.ok()) return found.status();
  const ExportFormat& format = FormatOf(arguments.format);
  const WeightsFile& weights = found->checkpoint.weights;
  const Result<std::string> bytes = FormatExport(format, weights, arguments.options);
  if (!bytes.ok())
    return Status(bytes.status().code(), found->folder + ": " + bytes.status().message());
  std::string output = arguments.output;
  if (output.empty()) {
    auto path = DefaultOutput(*source, format.ending);
    if (!path.ok()) return path.status();
    output = *std::move(path);
  }
  MURMURATE_RETURN_IF_ERROR(
      WriteFileAtomically(output, std::as_bytes(std::span<const char>(*bytes))));
  if (!common.quiet)
    std::printf("%s: the policy of step %s of %s, %s bytes\n", output.c_str(),
                WithCommas(weights.steps).c_str(), found->folder.c_str(),
                WithCommas(bytes->size()).c_str());
  return 0;
}

}  // namespace

void AddExport(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<ExportArguments>();
  auto* command = app->add_subcommand(
      "export", "A run's newest good policy as one file, for games, onnxruntime or PyTorch");
  command
      ->add_option("RUN", given->source,
                   "A run directory, a name under run.dir, or one checkpoint's folder")
      ->required();
  command->add_flag("--best", given->best, "The weights that evaluated best instead");
  std::vector<std::string> names;
  std::string formats;
  for (const ExportFormat& format : ExportFormats()) {
    names.emplace_back(format.name);
    formats += std::string(formats.empty() ? "" : "; ") + format.name + ": " + format.what;
  }
  command->add_option("--format", given->format, formats)
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command
      ->add_option("--networks", given->options.networks,
                   "Networks besides the policy, as value,q1, or all; not in a policy file")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("-o,--output", given->output,
                      "The file; without it RUN/export/NAME with the format's ending");
  line->Choose(command, RunExport, given);
}

}  // namespace murmurate
