// What the parts of the command line (cli.cc, cli_records.cc) share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "server/command/commands.h"

namespace murmurate {

/// Everything CLI11 writes into, and the command it chose.
struct CommandLine {
  CommonArguments common;
  LearnArguments learn;
  ActorArguments actor;
  FleetArguments fleet;
  EvalArguments eval;
  CheckpointArguments inspect;
  ExportArguments exported;
  AskArguments ask;
  PlotArguments plot;
  SetArguments set;
  ParamsArguments params;
  std::string check, resume;
  std::function<Result<int>()> chosen;
};

/// Subcommands for what runs have left: eval, inspect, export, plot.
void AddRecords(CLI::App* app, CommandLine* line);

}  // namespace murmurate
