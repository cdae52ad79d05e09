// CommandLine: the command line as its parts share it. Each subcommand is a file of its own that
// adds its words, options and what it runs to the line (AddCommand), and a line of the list in
// commands.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/config/config.h"

namespace murmurate {

/// CommonArguments are said once, before or after the subcommand.
struct CommonArguments {
  std::vector<ConfigOverride> overrides;  ///< of the environment, --set, shortcuts
  bool quiet = false;
  std::optional<int> parent;  ///< --end-with: the process that this one ends with
  std::string command;        ///< the command line, for command.txt
  std::int64_t start_ns = 0;  ///< of the process
};

struct CommandLine {
  CommonArguments common;
  std::vector<std::string> words;       ///< of the whole command line, without the program
  std::function<Result<int>()> chosen;  ///< runs the command that was chosen

  /// Runs `run` with the arguments that parsing wrote into `given`, if `command` is chosen. It
  /// gives the exit code (0, or 1 when a budget is spent without reaching the target), or the
  /// Status whose code it is.
  template <typename Arguments>
  void Choose(CLI::App* command,
              Result<int> (*run)(const CommonArguments& common, const Arguments& arguments),
              std::shared_ptr<Arguments> given) {
    command->callback(
        [this, run, given] { chosen = [this, run, given] { return run(common, *given); }; });
  }
};

/// Adds one subcommand.
using AddCommand = void(CLI::App* app, CommandLine* line);
/// All subcommands, in the order in which --help shows them.
const std::vector<AddCommand*>& Commands();
/// Adds the options of the program and all subcommands: `app` then parses a whole command line into
/// `line`, whose `chosen` runs it.
void AddCommands(CLI::App* app, CommandLine* line);

/// An option that is short for a --set.
void AddShortcut(CLI::App* command, CommandLine* line, const std::string& option,
                 const std::string& path, const std::string& help);
/// --worker I: this process is learner number I of several that are started one by one.
void AddWorker(CLI::App* command, int* worker);
inline constexpr int kNoWorker = -1;  ///< without --worker
/// What help texts say of an argument CONFIG.
inline constexpr char kConfigHelp[] =
    "TOML file, - for standard input, or example (cartpole, regression, downpour...; `murmurate "
    "train --list` names all)";
/// Prints the name of each example and what it is, a line each.
void PrintExamples();

/// The folder of RUN: a path, or a name under run.dir ("runs", or as --set run.dir says).
Result<std::string> FindRun(const CommonArguments& common, const std::string& run);

}  // namespace murmurate
