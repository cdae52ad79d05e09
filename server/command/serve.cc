#include <cstdio>

#include "server/command/command_line.h"
#include "server/command/launch.h"
#include "server/config/model_settings.h"
#include "server/daemon/daemon.h"
#include "server/daemon/resume_plan.h"
#include "server/data/training_data.h"
#include "server/ingest/ingest_settings.h"
#include "server/metrics/number_text.h"
#include "server/metrics/stream_metrics.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " and ") + word;
  return text;
}

const char* ReasonFor(RunEnd end) {
  if (end == RunEnd::kAskedToResume) return "the learner stops for a while";
  if (end == RunEnd::kSolved) return "the run reached stop_at_return";
  if (end == RunEnd::kHook) return "a hook ended the run";
  if (end == RunEnd::kStepsReached || end == RunEnd::kBudgetSpent)
    return "the run has learned from its steps";
  return "the learner was told to stop";
}

/// Waits for a signal, `murmurate stop` or the run's own rules; SIGHUP reloads the config.
RunEnd AwaitEnd(Signals* signals, Daemon* daemon, const ReadConfig& read_again) {
  while (true) {
    const Signals::Event event = signals->Wait(-1);
    if (event == Signals::Event::kSignal) return RunEnd::kAsked;
    if (const auto end = signals->requested()) return *end;
    if (event == Signals::Event::kHangup) daemon->Reload(read_again());
  }
}

/// The plan of `serve --resume`; empty: there is nothing to go on from, so it starts.
Result<std::optional<ResumePlan>> PlanFor(const Config& config) {
  const std::string folder = config.run().dir + '/' + config.run().name;
  const auto record = RunRecord::Read(folder);
  if (!record.ok() || record->models.empty()) return std::optional<ResumePlan>();
  if (CheckpointSteps(folder).empty()) return std::optional<ResumePlan>();
  auto plan = ReadResumePlan(folder, config, LoudOnStderr());
  if (!plan.ok()) return plan.status();
  return std::optional(std::move(*plan));
}

/// "stream temp: 1,200 messages of 3 devices, 1,180 forecasts published, 1,100 pairs learned from"
std::string StreamInWords(const Reading& stream) {
  const auto count = [&](const Metric& metric) { return WithCommas(stream.Count(metric)); };
  std::string words = "stream " + stream.name() + ": " + count(kStreamMessages) + " messages of " +
                      count(kStreamDevices) + " devices, ";
  if (!stream[kStreamBroker].text().empty())
    words += count(kStreamPublished) + " forecasts published, ";
  if (!stream[kStreamListen].text().empty())
    words += count(kStreamAnswered) + " samples answered, ";
  return words + count(kStreamLearned) + " pairs learned from";
}

/// Says what was done: a stream counts messages and not steps.
std::string DoneInWords(const Daemon::Outcome& outcome) {
  if (outcome.streams.empty()) return StepsInWords(outcome.steps);
  std::string words;
  for (const Reading& stream : outcome.streams)
    words += (words.empty() ? "" : "; ") + StreamInWords(stream);
  return words;
}

struct ServeArguments {
  std::string config;  ///< "": none
  bool fresh = false;
  bool resume = false;  ///< go on if that is possible, else start
  int worker = kNoWorker;
};

Result<Config> ConfigFor(const CommonArguments& common, const ServeArguments& arguments) {
  ConfigSource source{"defaults", "serve", ""};
  if (!arguments.config.empty()) {
    auto found = FindConfig(arguments.config);
    if (!found.ok()) return found.status();
    source = std::move(*found);
  }
  auto config = Config::Load(source, common.overrides);
  if (config.ok() && arguments.worker != kNoWorker)
    MURMURATE_RETURN_IF_ERROR(config->JoinCluster(arguments.worker));
  return config;
}

/// The config as a reload reads it.
Result<Config> ConfigAgain(const CommonArguments& common, const ServeArguments& arguments) {
  if (arguments.config != "-") return ConfigFor(common, arguments);
  return InvalidArgument(
      "the config came from standard input, which cannot be read again; start from a file to "
      "reload it");
}

Result<int> RunServe(const CommonArguments& common, const ServeArguments& arguments) {
  auto config = ConfigFor(common, arguments);
  if (!config.ok()) return config.status();
  if (!config->parameters().collective.empty())
    return InvalidArgument(
        "parameters.collective: a rank that waits for games of others would hold all ranks up; use "
        "`mpirun -n 4 murmurate train`, whose ranks have actors of their own, or a parameter "
        "server");
  DaemonOptions options;
  if (arguments.resume) {
    auto plan = PlanFor(*config);
    if (!plan.ok()) return plan.status();
    options.plan = std::move(*plan);
  }
  auto initial_files = ReadInitialFiles(InitialFilesOf(*config));
  if (!initial_files.ok()) return initial_files.status();
  auto data = OpenDataOf(common, *config);
  if (!data.ok()) return data.status();
  options.source = *std::move(data);
  options.initial_files = std::move(*initial_files);
  const bool aside = arguments.fresh || arguments.resume;
  options.when_taken = aside ? RunDirectory::WhenTaken::kFresh : RunDirectory::WhenTaken::kRefuse;
  return ServeOn(common, *config, std::move(options),
                 [&] { return ConfigAgain(common, arguments); });
}

/// Adds --listen, in place of the listen addresses of the config; each use adds one.
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
      "Listen beyond this host without keys: any program that reaches the port may train and read "
      "the "
      "model");
}

}  // namespace

void PrintPage(const CommonArguments& common, Daemon* daemon) {
  const std::string url = daemon->page_url();
  if (!common.quiet && !url.empty()) daemon->Print("the live page is " + url);
}

Result<int> ServeOn(const CommonArguments& common, const Config& config, DaemonOptions options,
                    const ReadConfig& read_again) {
  Signals signals(Signals::Hangup::kTold);
  options.display = common.quiet ? Display::Mode::kQuiet : Display::Suitable(stdout);
  options.console = common.quiet ? LogLevel::kWarning : LogLevel::kInfo;
  options.command = common.command;
  options.start_ns = common.start_ns;
  options.page = true;
  auto daemon = Daemon::Start(config, std::move(options), &signals);
  if (!daemon.ok()) return daemon.status();
  if (!common.quiet)
    (*daemon)->Print("murmurate serves " + (*daemon)->directory() + " on " +
                     Joined((*daemon)->addresses()) + "; Ctrl+C stops it");
  PrintPage(common, daemon->get());
  if (config.server().insecure)
    (*daemon)->log()(
        LogLevel::kWarning,
        "insecure: any program that reaches these addresses may train and read the model");
  const RunEnd end = AwaitEnd(&signals, daemon->get(), read_again);
  const Daemon::Outcome outcome = (*daemon)->Stop(
      ReasonFor(end), [&] { return (*daemon)->actors_left() == 0; }, end == RunEnd::kAskedToResume);
  if (!signals.failure().ok()) return signals.failure();
  if (!outcome.unreached.ok()) return outcome.unreached;
  if (!common.quiet) {
    (*daemon)->Print("stopped after " + DoneInWords(outcome) +
                     (outcome.scores.empty() ? "" : "; " + outcome.scores) +
                     (outcome.checkpoint.empty() ? "; no actor came, so there are no weights"
                                                 : "; weights in " + outcome.checkpoint));
  }
  return outcome.End(end) == RunEnd::kBudgetSpent ? 1 : 0;
}

void AddServe(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<ServeArguments>();
  auto* serve = app->add_subcommand("serve", "The learner daemon: learns from whatever attaches");
  serve->add_option("CONFIG", given->config,
                    std::string(kConfigHelp) +
                        "; without one it takes what comes, on "
                        "tcp://127.0.0.1:7420 and ipc");
  serve->add_flag("--fresh", given->fresh,
                  "Start afresh where an earlier run lies; that one is kept as NAME.1");
  serve->add_flag("--resume", given->resume,
                  "Go on from the run's newest checkpoint if there is one, else start");
  AddWorker(serve, &given->worker);
  AddListen(serve, line);
  AddInsecure(serve, line);
  AddShortcut(serve, line, "--seed", "run.seed", "Seed");
  AddShortcut(serve, line, "--steps", "run.steps", "Budget in steps that are learned from");
  line->Choose(serve, RunServe, given);
}

}  // namespace murmurate
