#include "tests/pages/command_check.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>

#include "server/command/command_line.h"
#include "server/command/command_words.h"
#include "server/config/config.h"

namespace murmurate {
namespace {

/// Files of a reader's own, and those that a page shows: what stands for them.
const std::map<std::string, std::string>& StandIns() {
  static const std::map<std::string, std::string> kStandIns = {
      {"mine.toml", "examples/configs/regression.toml"},
      {"sensors.toml", "examples/sensors/sensors.toml"},
      {"cartpole.toml", "examples/gymnasium/cartpole.toml"}};
  return kStandIns;
}

/// CONFIG, RUN: what the reader replaces.
bool IsPlaceholder(const std::string& word) {
  return std::ranges::all_of(word, [](unsigned char c) { return std::isupper(c); });
}

/// What was given for an argument: "" when nothing was.
std::string Given(const CLI::App& command, const std::string& argument) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_name(true) == argument && option->count() > 0) return option->results().front();
  return "";
}

std::string FaultOfKey(const std::string& path) {
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return "";  // a name of [settings]
  const std::string section = path.substr(0, dot);
  if (section == "hook" || section == "stream" || section == "settings") return "";
  return Schema().Find(section, path.substr(dot + 1)) ? "" : path + " is no key of a config";
}

std::string FaultOfConfig(const std::string& name, const std::vector<ConfigOverride>& overrides) {
  ConfigSource source{"defaults", "serve", ""};
  if (!name.empty()) {
    const auto stand_in = StandIns().find(name);
    auto found = FindConfig(stand_in == StandIns().end() ? name : stand_in->second);
    if (!found.ok()) return found.status().message();
    source = std::move(*found);
  }
  const auto config = Config::Load(source, overrides);
  return config.ok() ? "" : config.status().message();
}

}  // namespace

std::string FaultOfArguments(const std::vector<std::string>& arguments) {
  CommandLine line;
  CLI::App app;
  AddCommands(&app, &line);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::Success&) {
    return "";
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  for (const ConfigOverride& override : line.common.overrides)
    if (std::string fault = FaultOfKey(override.path); !fault.empty()) return fault;
  const std::string assignment = Given(*command, "NAME=VALUE");
  if (std::string fault = FaultOfKey(assignment.substr(0, assignment.find('='))); !fault.empty())
    return fault;
  const std::string config = Given(*command, "CONFIG"), name = command->get_name();
  if (config.empty() && name != "serve" && name != "check") return "";
  return IsPlaceholder(config) && !config.empty() ? ""
                                                  : FaultOfConfig(config, line.common.overrides);
}

std::vector<std::string> CommandNames() {
  CommandLine line;
  CLI::App app;
  AddCommands(&app, &line);
  return CommandsIn(app).front().commands;
}

}  // namespace murmurate
