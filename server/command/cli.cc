#include "server/command/cli.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <iostream>

#include "client/environments/environment.h"
#include "server/command/cli_line.h"
#include "server/config/examples.h"
#include "server/daemon/daemon.h"
#include "server/daemon/version.h"
#include "server/schema/config_value.h"
#include "shared/core/clock.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

std::string ExampleNames() {
  std::string names;
  for (const Example& example : Examples())
    names += (names.empty() ? "" : ", ") + std::string(example.name);
  return names;
}

std::string EnvironmentList() {
  std::string names;
  for (const std::string& name : EnvironmentNames()) names += (names.empty() ? "" : ", ") + name;
  return names;
}

/// An option that is short for a --set.
void AddShortcut(CLI::App* command, CommandLine* line, const std::string& option,
                 const std::string& path, const std::string& help) {
  command->add_option_function<std::string>(
      option,
      [line, option, path](const std::string& value) {
        line->common.overrides.push_back({path, value, option});
      },
      help + " (short for --set " + path + "=...)");
}

void AddSet(CLI::App* app, CommandLine* line) {
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
}

/// In place of the listen addresses of the config; each use adds one.
void AddListen(CLI::App* command, CommandLine* line) {
  command
      ->add_option_function<std::vector<std::string>>(
          "--listen",
          [line](const std::vector<std::string>& addresses) {
            const ConfigValue list(addresses);
            line->common.overrides.push_back({"server.listen", ToToml(list), "--listen"});
          },
          "Listen there alone: tcp://HOST:PORT, ipc://PATH, or ipc; may be repeated")
      ->type_name("ADDRESS")
      ->take_all()
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void AddInsecure(CLI::App* command, CommandLine* line) {
  command->add_flag_callback(
      "--insecure",
      [line] {
        line->common.overrides.push_back({"server.insecure", "true", "--insecure"});
      },
      "Listen beyond this host without keys: anybody who reaches the port may train and read the "
      "model");
}

void AddServe(CLI::App* app, CommandLine* line) {
  auto* serve = app->add_subcommand("serve", "The learner daemon: learns from whatever attaches");
  serve->add_option("CONFIG", line->learn.config,
                    "TOML file or example (" + ExampleNames() +
                        "); without one it takes what comes, on "
                        "tcp://127.0.0.1:7420 and ipc");
  serve->add_flag("--fresh", line->learn.fresh,
                  "Start afresh where an earlier run lies; that one is kept as NAME.1");
  serve->add_flag("--resume", line->learn.resume,
                  "Go on from the run's newest checkpoint if there is one, else start");
  AddListen(serve, line);
  AddInsecure(serve, line);
  AddShortcut(serve, line, "--seed", "run.seed", "Seed");
  AddShortcut(serve, line, "--steps", "run.steps", "Budget in steps that are learned from");
  serve->callback(
      [line] { line->chosen = [line] { return RunServe(line->common, line->learn); }; });
}

void AddTrain(CLI::App* app, CommandLine* line) {
  auto* train = app->add_subcommand("train", "A learner and local actors, until solved");
  train->add_option("CONFIG", line->learn.config, "TOML file or example (" + ExampleNames() + ")")
      ->required();
  AddShortcut(train, line, "--actors", "run.actors", "Actor processes");
  AddShortcut(train, line, "--agents", "run.agents", "Agents in each");
  AddShortcut(train, line, "--seed", "run.seed", "Seed");
  AddShortcut(train, line, "--steps", "run.steps", "Budget in steps that are learned from");
  AddShortcut(train, line, "--learners", "run.learners", "Learners that share one model");
  AddShortcut(train, line, "--shards", "run.shards", "Processes of their parameter server");
  train->callback(
      [line] { line->chosen = [line] { return RunTrain(line->common, line->learn); }; });
}

void AddParams(CLI::App* app, CommandLine* line) {
  auto* params = app->add_subcommand(
      "params",
      "One shard of a parameter server, for learners with [parameters] mode = \"server\"");
  ParamsArguments& given = line->params;
  params->add_option("CONFIG", given.config, "The TOML file (or example) that the learners have")
      ->required();
  params->add_option("--shard", given.shard, "Its index in parameters.shards")->required();
  params->add_option("--dir", given.folder,
                     "Where its checkpoints lie and it goes on from; usual: RUN-shard-I");
  params->add_flag("--fresh", given.fresh, "Begin anew; what lies there is kept as DIR.1");
  params->add_flag("--stay", given.stay, "Go on when its last worker has left");
  params->callback(
      [line] { line->chosen = [line] { return RunParams(line->common, line->params); }; });
}

void AddResume(CLI::App* app, CommandLine* line) {
  auto* resume = app->add_subcommand(
      "resume", "Go on with a run from its newest good checkpoint, where it was");
  resume->add_option("RUN", line->resume, "A run directory, or a name under run.dir")->required();
  AddShortcut(resume, line, "--steps", "run.steps", "Budget in steps that are learned from");
  resume->callback(
      [line] { line->chosen = [line] { return RunResume(line->common, line->resume); }; });
}

Pace PaceOf(const std::string& word) {
  if (word == "never") return Pace::kNever;
  if (word == "credit") return Pace::kCredit;
  if (word == "lockstep") return Pace::kLockstep;
  throw CLI::ValidationError("--pace", "got \"" + word + "\", expected never, credit or lockstep");
}

void AddEnvironmentOptions(CLI::App* actor, ActorArguments* given) {
  for (const EnvironmentOption& option : AllEnvironmentOptions())
    actor
        ->add_option_function<double>(
            std::string("--") + option.name,
            [given, &option](const double& value) {
              if (!option.IsOf(given->environment))
                throw CLI::ValidationError(
                    std::string("--") + option.name,
                    "only the environment " + std::string(option.environment) + " has it");
              if (option.whole && value != std::floor(value))
                throw CLI::ValidationError(std::string("--") + option.name,
                                           "got " + NumberText(value) + ", expected an integer");
              given->options.*option.value = value;
            },
            option.MeaningInWords())
        ->check(CLI::Range(option.low, option.high))
        ->default_str(NumberText(given->options.*option.value));
}

double RateOf(const std::string& text) {
  if (text == "max") return 0;
  double rate = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, rate);
  if (read.ec == std::errc() && read.ptr == end && rate >= 0 && rate <= 1e6) return rate;
  throw CLI::ValidationError("--rate", "got \"" + text +
                                           "\", expected messages a second, at most 1000000, or "
                                           "max for as many as the broker takes");
}

void AddFleetTopics(CLI::App* sensors, FleetArguments* given) {
  auto* connect = sensors->add_option(
      "--connect", given->connect,
      "tcp://HOST:PORT or ipc://PATH of a stream that listens, instead of a broker");
  for (auto* of_broker :
       {sensors->add_option("--broker", given->broker, "mqtt://HOST[:PORT]")->capture_default_str(),
        sensors->add_option("--topic", given->topic, "Where each device publishes")
            ->capture_default_str(),
        sensors->add_option("--committed", given->committed,
                            "Where the learner says what is on disk, {\"sequence\":N}, e.g. "
                            "sensors/{device}/committed: after a loss the rest is sent again"),
        sensors->add_option("--status", given->status,
                            "Where the learner says that it is there: with --committed nothing is "
                            "sent before"),
        static_cast<CLI::Option*>(sensors->add_flag(
            "--insecure", given->insecure,
            "A broker on another machine without TLS: anybody on the way can read it"))})
    connect->excludes(of_broker);
}

void AddFleet(CLI::App* actor, CommandLine* line) {
  auto* sensors = actor->add_subcommand(
      "sensors", "A made-up fleet of sensors for [stream.NAME], over an MQTT broker or ZeroMQ");
  sensors->fallthrough(false);  // what the other actors have is not for it
  FleetArguments& given = line->fleet;
  AddFleetTopics(sensors, &given);
  sensors->add_option("--devices", given.devices, "Devices")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  sensors
      ->add_option_function<std::string>(
          "--rate", [&given](const std::string& text) { given.rate = RateOf(text); },
          "Messages a second of each device, or max")
      ->type_name("NUMBER|max")
      ->default_str("1");
  sensors->add_option("--seconds", given.seconds, "How long")
      ->check(CLI::Range(0.001, 1e8))
      ->capture_default_str();
  sensors->add_option("--seed", given.seed, "Of the fleet")->capture_default_str();
  sensors
      ->add_option("--noise", given.noise,
                   "Degrees by which temperatures deviate at random: what nobody can forecast")
      ->check(CLI::Range(0.0, 1000.0))
      ->capture_default_str();
  sensors
      ->add_option("--drift-at", given.drift_at_s,
                   "After so many seconds all devices change: level, season, and what a load does")
      ->check(CLI::Range(0.0, 1e8));
  sensors->add_flag("--quiet", line->common.quiet, "Only warnings and errors");
  sensors->callback(
      [line] { line->chosen = [line] { return RunFleet(line->common, line->fleet); }; });
}

void AddActor(CLI::App* app, CommandLine* line) {
  auto* actor = app->add_subcommand("actor", "A built-in environment as an actor of a learner");
  ActorArguments& given = line->actor;
  actor->add_option("ENV", given.environment,
                    "One of " + EnvironmentList() +
                        " (random: a dry client to try a server), or sensors, which has options "
                        "of its own");
  actor->add_option("--connect", given.connect, "The learner's address")->capture_default_str();
  actor->add_option("--agents", given.agents, "Agents that play at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  actor
      ->add_option_function<std::string>(
          "--pace", [&given](const std::string& word) { given.pace = PaceOf(word); },
          "What it waits for: never (drops what the learner cannot take), credit (the default) or "
          "lockstep (also for each new version)")
      ->type_name("never|credit|lockstep");
  actor->add_option("--steps", given.steps, "End after so many steps");
  actor
      ->add_option("--patience", given.patience_s,
                   "Seconds to wait for a learner that is gone; 0: for ever")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  actor->add_option("--seed", given.seed, "Of the environments; without it another each time");
  actor->add_option("--name", given.name, "How the learner shows it")->capture_default_str();
  actor->add_option("--model", given.model, "Which model it plays")->capture_default_str();
  AddEnvironmentOptions(actor, &given);
  AddFleet(actor, line);
  actor->callback([line, actor] {
    if (!actor->get_subcommands().empty()) return;
    if (line->actor.environment.empty()) throw CLI::RequiredError("ENV");
    line->chosen = [line] { return RunActor(line->common, line->actor); };
  });
}

void AddOthers(CLI::App* app, CommandLine* line) {
  auto* status = app->add_subcommand("status", "Ask a live learner or shard how it is");
  status->add_option("RUN", line->ask.run, "Which; without it the only live one");
  status->add_flag("--json", line->ask.json, "As JSON");
  status->callback(
      [line] { line->chosen = [line] { return RunStatus(line->common, line->ask); }; });
  auto* stop = app->add_subcommand("stop", "Stop a live learner or shard cleanly");
  stop->add_option("RUN", line->ask.run, "Which; without it the only live one");
  stop->add_flag("--resume-follows", line->ask.resume_follows,
                 "Lock-step actors wait for `murmurate resume` instead of playing on or ending");
  stop->callback([line] { line->chosen = [line] { return RunStop(line->common, line->ask); }; });
  auto* set =
      app->add_subcommand("set", "Change a setting of the games, or a rate, of a live learner");
  set->add_option("RUN", line->set.run, "Which run")->required();
  set->add_option("NAME=VALUE", line->set.assignments,
                  "A name of [settings], algorithm.entropy, algorithm.clip or "
                  "optimizer.learning_rate (model.NAME.... of one model)")
      ->required();
  set->callback([line] { line->chosen = [line] { return RunSet(line->common, line->set); }; });
  auto* check =
      app->add_subcommand("check", "Explain a config: every value and where it comes from");
  check->add_option("CONFIG", line->check, "TOML file or example (" + ExampleNames() + ")");
  check->callback(
      [line] { line->chosen = [line] { return RunCheck(line->common, line->check); }; });
}

int Report(const Status& status) {
  std::cerr << status.message() << '\n';
  return static_cast<int>(status.code());
}

int Run(CommandLine* line) try {
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

int RunCommandLine(int argument_count, const char* const* arguments) {
  CommandLine line;
  line.common.start_ns = MonotonicNs();
  for (int i = 0; i < argument_count; ++i)
    line.common.command += (i ? " " : "") + std::string(arguments[i]);
  CLI::App app(
      "murmurate: attach any running game or simulator to a live learner.\n"
      "Start with `murmurate train cartpole`, or `murmurate serve` and a game.",
      "murmurate");
  app.set_version_flag("--version", VersionLine());
  app.require_subcommand(1);
  app.fallthrough();
  AddSet(&app, &line);
  AddServe(&app, &line);
  AddTrain(&app, &line);
  AddParams(&app, &line);
  AddResume(&app, &line);
  AddActor(&app, &line);
  AddRecords(&app, &line);
  AddOthers(&app, &line);
  for (CLI::App* command : app.get_subcommands({})) {
    command->fallthrough();
    command->footer("Also --quiet, and --set SECTION.KEY=VALUE for any key of the config.");
  }
  app.footer(
      "Exit codes: 0 clean, 1 budget spent without reaching stop_at_return, 2 usage or config,\n"
      "3 data or checkpoint invalid, 5 resource, 6 already running, 70 internal.");
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::Success& success) {
    return app.exit(success);
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
