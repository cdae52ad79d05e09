#include <cstdio>

#include "server/commands.h"
#include "server/daemon.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " and ") + word;
  return text;
}

const char* ReasonFor(std::optional<RunEnd> end) {
  if (end == RunEnd::kSolved) return "the run reached stop_at_return";
  if (end == RunEnd::kStepsReached || end == RunEnd::kBudgetSpent)
    return "the run has taken its steps";
  return "the learner was told to stop";
}

}  // namespace

Result<int> RunServe(const CommonArguments& common, const LearnArguments& arguments) {
  ConfigSource source{"defaults", "serve", ""};
  if (!arguments.config.empty()) {
    auto found = FindConfig(arguments.config);
    if (!found.ok()) return found.status();
    source = std::move(*found);
  }
  auto config = Config::Load(source, common.overrides);
  if (!config.ok()) return config.status();
  auto initial_files = ReadInitialFiles(config->initial_files());
  if (!initial_files.ok()) return initial_files.status();
  auto data = OpenData(config->data());
  if (!data.ok()) return data.status();
  Signals signals;
  DaemonOptions options;
  options.initial_files = std::move(*initial_files);
  options.when_taken =
      arguments.fresh ? RunDirectory::WhenTaken::kFresh : RunDirectory::WhenTaken::kRefuse;
  options.display = common.quiet ? Display::Mode::kQuiet : Display::Suitable(stdout);
  options.console = common.quiet ? LogLevel::kWarning : LogLevel::kInfo;
  options.command = common.command;
  options.start_ns = common.start_ns;
  options.source = *std::move(data);
  auto daemon = Daemon::Start(*config, std::move(options), &signals);
  if (!daemon.ok()) return daemon.status();
  if (!common.quiet)
    (*daemon)->Print("murmurate serves " + (*daemon)->directory() + " on " +
                     Joined((*daemon)->addresses()) + "; Ctrl+C stops it");
  if (config->server().insecure)
    (*daemon)->log()(LogLevel::kWarning,
                     "insecure: whoever reaches these addresses may train and read the model");
  Signals::Event event = Signals::Event::kTimeout;
  while (event != Signals::Event::kSignal && !signals.requested()) event = signals.Wait(-1);
  const auto end = event == Signals::Event::kSignal ? RunEnd::kAsked : signals.requested();
  const Daemon::Outcome outcome =
      (*daemon)->Stop(ReasonFor(end), [&] { return (*daemon)->actors_left() == 0; });
  if (!signals.failure().ok()) return signals.failure();
  if (!common.quiet) {
    (*daemon)->Print("stopped after " + WithCommas(outcome.steps) + " steps" +
                     (outcome.scores.empty() ? "" : "; " + outcome.scores) +
                     (outcome.checkpoint.empty() ? "; no actor came, so there are no weights"
                                                 : "; weights in " + outcome.checkpoint));
  }
  return end == RunEnd::kBudgetSpent ? 1 : 0;
}

}  // namespace murmurate
