// The command line for what runs have left behind: eval, inspect, export, plot.
#include "server/command/cli_line.h"

namespace murmurate {
namespace {

void AddEval(CLI::App* app, CommandLine* line) {
  auto* eval = app->add_subcommand(
      "eval", "Score a run's newest good weights, greedily, on seeds it never trained on");
  eval->add_option("RUN", line->eval.place,
                   "A run directory, a name under run.dir, or one checkpoint's folder")
      ->required();
  eval->add_flag("--best", line->eval.best, "Those that evaluated best instead");
  eval->add_option("--episodes", line->eval.episodes, "Episodes")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  eval->callback([line] { line->chosen = [line] { return RunEval(line->common, line->eval); }; });
}

void AddInspect(CLI::App* app, CommandLine* line) {
  auto* inspect = app->add_subcommand(
      "inspect", "What is in a checkpoint, and whether each of its files is what was written");
  inspect
      ->add_option("CHECKPOINT", line->inspect.place,
                   "A checkpoint's folder, or a run (all of them, the newest good one in full)")
      ->required();
  inspect->add_flag("--best", line->inspect.best, "The weights that evaluated best in full");
  inspect->callback(
      [line] { line->chosen = [line] { return RunInspect(line->common, line->inspect); }; });
}

void AddExport(CLI::App* app, CommandLine* line) {
  auto* command = app->add_subcommand(
      "export", "A run's newest good policy as one file, which a game plays without a learner");
  command
      ->add_option("RUN", line->exported.place,
                   "A run directory, a name under run.dir, or one checkpoint's folder")
      ->required();
  command->add_flag("--best", line->exported.best, "The weights that evaluated best instead");
  // The only one so far; said so that scripts hold when there are others.
  command->add_option("--format", "policy: what Client::Open and mmr_open read")
      ->check(CLI::IsMember({"policy"}))
      ->default_str("policy");
  command->add_option("-o,--output", line->exported.output,
                      "The file; without it RUN/export/NAME.policy");
  command->callback(
      [line] { line->chosen = [line] { return RunExport(line->common, line->exported); }; });
}

void AddPlot(CLI::App* app, CommandLine* line) {
  auto* plot = app->add_subcommand(
      "plot", "Learning curves as an SVG; runs that differ in their seeds only become one curve");
  PlotArguments& given = line->plot;
  plot->add_option("RUN", given.runs, "Run directories, or names under run.dir")->required();
  plot->add_option("-o,--output", given.output,
                   "The picture; without it plots/learning.svg of a single run, else curves.svg");
  plot->add_option("--title", given.title, "Above it");
  plot->add_option(
      "--target", given.target,
      "A dashed line here; without it at stop_at_return, where all runs have the same");
  plot->add_option("--column", given.column,
                   "Of progress.csv, or a name of reports.csv; of one configuration several, with "
                   "commas between")
      ->capture_default_str();
  plot->callback([line] { line->chosen = [line] { return RunPlot(line->common, line->plot); }; });
}

}  // namespace

void AddRecords(CLI::App* app, CommandLine* line) {
  AddEval(app, line);
  AddInspect(app, line);
  AddExport(app, line);
  AddPlot(app, line);
}

}  // namespace murmurate
