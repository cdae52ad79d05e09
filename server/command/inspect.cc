// murmurate inspect CHECKPOINT|RUN: what is in it, and whether it can be trusted.
#include <cmath>
#include <cstdio>
#include <sstream>

#include "server/command/choose_checkpoint.h"
#include "server/command/command_line.h"
#include "server/metrics/number_text.h"
#include "server/operate/checkpoint_directory.h"
#include "server/operate/checkpoint_files.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

double Norm(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum);
}

std::string ShapeText(const std::vector<int>& shape) {
  std::string text;
  for (const int size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

void PrintArray(const std::string& name, const std::string& shape, std::span<const float> values) {
  std::printf("  %-44s %14s %14s  norm %.6g\n", name.c_str(), shape.c_str(),
              WithCommas(values.size()).c_str(), Norm(values));
}

/// The verdict on each file; true when all are good.
bool PrintVerdicts(const std::string& folder) {
  bool good = true;
  std::printf("%s\n", folder.c_str());
  for (const FileVerdict& verdict : VerifyFiles(folder)) {
    std::printf("  %-22s %14s bytes  %s\n", verdict.name.c_str(), WithCommas(verdict.size).c_str(),
                verdict.status.ok() ? "verified" : verdict.status.message().c_str());
    good = good && verdict.status.ok();
  }
  return good;
}

std::string MeanText(const Checkpoint& checkpoint) {
  if (checkpoint.evaluated) return ReturnText(checkpoint.evaluated->mean_return) + " (evaluated)";
  return checkpoint.mean_return ? ReturnText(*checkpoint.mean_return) : "-";
}

void PrintModel(const Checkpoint& checkpoint) {
  const WeightsFile& weights = checkpoint.weights;
  const std::string taken =
      checkpoint.environment_steps > 0
          ? " (of " + WithCommas(checkpoint.environment_steps) + " environment steps)"
          : "";
  std::printf("step %s%s, version %s, mean return %s\n", WithCommas(weights.steps).c_str(),
              taken.c_str(), WithCommas(weights.version).c_str(), MeanText(checkpoint).c_str());
  std::printf("\nmodel %s\n", ToHex(weights.spec.Hash()).c_str());
  std::istringstream lines(weights.spec.ToText());
  for (std::string line; std::getline(lines, line);) std::printf("  %s\n", line.c_str());
  std::printf("\nweights\n");
  for (const TensorSlot& slot : ParameterLayout(weights.spec).tensors)
    PrintArray(slot.name, ShapeText(slot.shape),
               {weights.parameters.data() + slot.offset, slot.count});
}

template <typename Number>
void PrintCounts(const char* title, const std::map<std::string, std::vector<Number>>& arrays) {
  if (arrays.empty()) return;
  std::printf("\n%s\n", title);
  for (const auto& [name, values] : arrays)
    std::printf("  %-44s %14s\n", name.c_str(), WithCommas(values.size()).c_str());
}

void PrintState(const Checkpoint& checkpoint) {
  if (checkpoint.state == SavedState{})
    std::printf("\nweights only: they can be played and begun with, but not gone on from\n");
  if (!checkpoint.state.floats.empty()) std::printf("\noptimizer and other floats\n");
  for (const auto& [name, values] : checkpoint.state.floats) PrintArray(name, "", values);
  PrintCounts("doubles", checkpoint.state.doubles);
  PrintCounts("words", checkpoint.state.words);
  if (!checkpoint.settings.empty()) std::printf("\nsettings\n");
  for (const auto& [path, value] : checkpoint.settings)
    std::printf("  %-44s %s\n", path.c_str(), value.c_str());
}

struct InspectArguments {
  std::string source;  ///< a run or a checkpoint
  bool best = false;
};

Result<int> RunInspect(const CommonArguments& common, const InspectArguments& arguments) {
  const auto source = FindCheckpointSource(common, arguments.source);
  if (!source.ok()) return source.status();
  if (source->folder.empty()) {
    for (const std::uint64_t step : CheckpointSteps(source->run))
      PrintVerdicts(CheckpointFolder(source->run, step));
    const std::string checkpoints = source->run + "/checkpoints";
    for (const std::uint64_t step : BestSteps(checkpoints))
      PrintVerdicts(checkpoints + '/' + BestName(step));
  } else {
    PrintVerdicts(source->folder);
  }
  std::fflush(stdout);
  const auto found = ChooseCheckpoint(*source, arguments.best);
  if (!found.ok()) return found.status();
  std::printf("\n%s\n", found->folder.c_str());
  PrintModel(found->checkpoint);
  PrintState(found->checkpoint);
  return 0;
}

}  // namespace

void AddInspect(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<InspectArguments>();
  auto* inspect = app->add_subcommand(
      "inspect", "What is in a checkpoint, and whether each of its files is what was written");
  inspect
      ->add_option("CHECKPOINT", given->source,
                   "A checkpoint's folder, or a run (all of them, the newest good one in full)")
      ->required();
  inspect->add_flag("--best", given->best, "The weights that evaluated best in full");
  line->Choose(inspect, RunInspect, given);
}

}  // namespace murmurate
