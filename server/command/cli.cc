#include "server/command/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "server/command/command_line.h"
#include "server/command/command_words.h"
#include "server/config/environment_overrides.h"
#include "server/config/examples.h"
#include "server/daemon/daemon.h"
#include "server/daemon/end_with_parent.h"
#include "server/daemon/version.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"

namespace murmurate {

void AddWorker(CLI::App* command, int* worker) {
  command
      ->add_option("--worker", *worker,
                   "Be learner number I, from 0, of those that share one model (run.learners) and "
                   "are started one by one, each with --worker")
      ->type_name("I")
      ->check(CLI::Range(0, 65535));
}

void PrintExamples() {
  int width = 0;
  for (const Example& example : Examples())
    width = std::max(width, static_cast<int>(std::strlen(example.name)));
  for (const Example& example : Examples())
    std::printf("%-*s  %s\n", width, example.name, SummaryOf(example).c_str());
}

void AddShortcut(CLI::App* command, CommandLine* line, const std::string& option,
                 const std::string& path, const std::string& help) {
  command->add_option_function<std::string>(
      option,
      [line, option, path](const std::string& value) {
        line->common.overrides.push_back({path, value, option});
      },
      help + " (short for --set " + path + "=...)");
}

namespace {

void AddSettings(CLI::App* app, CommandLine* line) {
  app->add_option_function<std::vector<std::string>>(
         "--set",
         [line](const std::vector<std::string>& settings) {
           for (const std::string& setting : settings) {
             const std::size_t equals = setting.find('=');
             if (equals == std::string::npos)
               throw CLI::ValidationError("--set",
                                          "got \"" + setting + "\", expected section.key=value");
             line->common.overrides.push_back(
                 {setting.substr(0, equals), setting.substr(equals + 1)});
           }
         },
         "Override a key of the config, e.g. --set algorithm.epochs=4; may be repeated")
      ->type_name("SECTION.KEY=VALUE")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_flag("--quiet", line->common.quiet, "No progress, only warnings and errors");
  app->add_option("--end-with", line->common.parent,
                  "Stop when the program that started this one ends; PID is its process number")
      ->type_name("PID");
}

int Report(const Status& status) {
  std::cerr << status.message() << '\n';
  return static_cast<int>(status.code());
}

int Run(CommandLine* line) try {
  if (line->common.parent)
    if (Status status = EndWithParent(*line->common.parent); !status.ok()) return Report(status);
  const Result<int> code = line->chosen();
  return code.ok() ? *code : Report(code.status());
} catch (const std::bad_alloc&) {
  return Report(
      ResourceError("no memory; lower algorithm.batch_steps, model.layers or run.agents"));
} catch (const std::exception& error) {
  return Report(Status(StatusCode::kInternal, std::string("a fault inside murmurate: ") +
                                                  error.what() +
                                                  "; please report it with the command line"));
}

}  // namespace

void AddCommands(CLI::App* app, CommandLine* line) {
  app->name("murmurate");
  app->description(
      "murmurate: attach any running game or simulator to a live learner.\n"
      "Start with `murmurate train cartpole`, or `murmurate serve` and a game.");
  app->set_version_flag("--version", VersionLine());
  app->require_subcommand(1);
  app->fallthrough();
  AddSettings(app, line);
  for (AddCommand* const add : Commands()) add(app, line);
  for (CLI::App* command : app->get_subcommands({})) {
    command->fallthrough();
    command->footer("Also --quiet, and --set SECTION.KEY=VALUE for any key of the config.");
  }
  app->footer(std::string("Exit codes: ") + kExitCodes);
}

int RunCommandLine(int argument_count, const char* const* arguments) {
  CommandLine line;
  line.common.start_ns = MonotonicNs();
  for (int i = 0; i < argument_count; ++i)
    line.common.command += (i ? " " : "") + std::string(arguments[i]);
  line.common.overrides = TakeEnvironmentOverrides();
  line.words.assign(arguments + std::min(1, argument_count), arguments + argument_count);
  CLI::App app;
  AddCommands(&app, &line);
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& success) {
    if (!line.chosen) return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return Report(InvalidArgument(std::string(error.what()) + "; see murmurate --help"));
  }
  const int code = Run(&line);
  RemoveRuntimeFolder();
  if (!Daemon::left_a_thread()) return code;
  std::fflush(nullptr);
  _exit(code);  // a thread is still inside a long batch: destroy nothing under it
}

}  // namespace murmurate
