// CommandWords: the command line as data, for what is generated from it: completion of shells and
// manual pages. It is read from the definitions that parse the command line, so it names what they
// do and nothing else.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace murmurate {

/// What the exit codes mean, in lines that fit a terminal.
inline constexpr char kExitCodes[] =
    "0 clean, 1 budget spent without reaching stop_at_return, 2 usage or config,\n"
    "3 data or checkpoint invalid, 5 resource, 6 already running, 7 unavailable now:\n"
    "try again, 70 internal.";

struct OptionWords {
  std::vector<std::string> names;    ///< "--set"
  std::string value;                 ///< "SECTION.KEY=VALUE"; "": it takes none
  std::vector<std::string> choices;  ///< nothing else is accepted; empty: anything is
  std::string help;
};

struct ArgumentWords {
  std::string name;  ///< "CONFIG"
  std::string help;
  std::vector<std::string> choices;  ///< as of an option
  bool required = false;
  bool many = false;
};

struct CommandWords {
  std::string path;  ///< "train", "cluster start"; "": the program itself
  std::string help;
  std::vector<std::string> commands;  ///< the words that may follow it: "start"
  std::vector<OptionWords> options;   ///< its own; those of the program hold everywhere
  std::vector<ArgumentWords> arguments;
};

/// The program and all its commands, each before those below it.
std::vector<CommandWords> CommandsIn(const CLI::App& app);

/// The options of the program that may stand after a command, which has a --help of its own.
std::vector<OptionWords> CommonOptions(const CommandWords& program);

/// "train" -> "murmurate train".
std::string CommandOf(const CommandWords& words);

/// A script for bash that completes commands, options, bundled configs, runs and keys of the
/// config; likewise for zsh.
std::string BashCompletion(const std::vector<CommandWords>& all);
std::string ZshCompletion(const std::vector<CommandWords>& all);

/// The manual page of all[index] in troff's man macros; `date`: "2026-01-31".
std::string ManualPage(const std::vector<CommandWords>& all, std::size_t index,
                       const std::string& date);
/// "murmurate-cluster-start" of "cluster start".
std::string ManualName(const CommandWords& words);

}  // namespace murmurate
