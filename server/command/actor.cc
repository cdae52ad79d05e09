#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <thread>

#include "client/environments/play.h"
#include "server/command/command_line.h"
#include "server/command/sensors.h"
#include "server/daemon/signals.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

struct ActorArguments {
  std::string environment, connect = "tcp://127.0.0.1:7420", name = "actor", model = "default";
  int agents = 1;
  Pace pace = Pace::kCredit;
  std::optional<std::uint64_t> steps, seed;
  double patience_s = 60;  ///< for a learner that is gone; 0: for ever
  EnvironmentOptions options;
};

constexpr std::int64_t kSilenceNs = 3 * kNanosecondsPerSecond;
constexpr int kGraceMs = 300;

/// PlayLoop on its own thread, because Act may wait: for weights, for credit. The main thread
/// watches.
class Playing {
 public:
  Playing(Client* client, PlayOptions options, Signals* signals) {
    options.stop = [this] { return stop_.load(); };
    thread_ = std::thread([this, client, options, signals] {
      result_.emplace(PlayLoop(*client, options));
      ended_.store(true);
      signals->Request(RunEnd::kAsked);
    });
  }
  ~Playing() { thread_.join(); }

  bool ended() const { return ended_.load(); }
  /// False when it still waits inside Act after the time given.
  bool Stop(Signals* signals) {
    stop_.store(true);
    const std::int64_t deadline = MonotonicNs() + kGraceMs * kNanosecondsPerMillisecond;
    while (!ended() && MonotonicNs() < deadline) signals->Wait(5);
    return ended();
  }
  const Result<PlayResult>& result() const { return *result_; }

 private:
  std::atomic<bool> stop_{false}, ended_{false};
  std::optional<Result<PlayResult>> result_;
  std::thread thread_;
};

/// The time for which a learner that answered once has not answered.
class Absence {
 public:
  double Seconds(bool in_session) {
    const std::int64_t now_ns = MonotonicNs();
    if (in_session) last_ns_ = now_ns;
    return last_ns_ < 0 ? 0.0 : static_cast<double>(now_ns - last_ns_) * 1e-9;
  }

 private:
  std::int64_t last_ns_ = -1;
};

/// Waits for a signal, the end of play, or a learner that refuses us; fails with its reason.
Status Watch(const Client& client, const ActorArguments& arguments, const Playing& playing,
             Signals* signals, const CommonArguments& common) {
  bool told = common.quiet;
  Absence absence;
  while (!playing.ended() && !client.should_stop()) {
    if (signals->Wait(50) == Signals::Event::kSignal) return {};
    const StateReport state = client.State();
    if (state.state == ClientState::kRefused)
      return InvalidArgument(arguments.connect + ": " + state.reason);
    if (arguments.patience_s > 0 && absence.Seconds(state.in_session) > arguments.patience_s)
      return ResourceError("the learner at " + arguments.connect + " has been gone for " +
                           ShortDuration(arguments.patience_s) +
                           ", so this actor ends; start both again, or let it wait longer with "
                           "--patience SECONDS (0: for ever)");
    if (told || state.state != ClientState::kNoLearner ||
        MonotonicNs() - common.start_ns < kSilenceNs)
      continue;
    std::cerr << "no learner answers at " << arguments.connect
              << "; start one with `murmurate serve` (waiting for it)\n";
    told = true;
  }
  return {};
}

void PrintResult(const PlayResult& result, const ClientStats& stats) {
  std::printf("played %s steps, %s episodes", WithCommas(result.steps).c_str(),
              WithCommas(result.episodes).c_str());
  if (result.episodes > 0)
    std::printf(", mean return %s",
                ReturnText(result.return_sum / static_cast<double>(result.episodes)).c_str());
  std::printf("; %s trajectories sent, %s steps never sent\n",
              WithCommas(stats.trajectories_sent).c_str(), WithCommas(stats.steps_dropped).c_str());
}

PlayOptions OptionsOf(const ActorArguments& arguments) {
  PlayOptions options;
  options.environment = arguments.environment;
  options.options = arguments.options;
  options.model = arguments.model;
  options.agents = arguments.agents;
  options.steps = arguments.steps.value_or(0);
  options.seed = arguments.seed.value_or(RandomIdentity());
  return options;
}

Result<int> RunActor(const CommonArguments& common, const ActorArguments& arguments) {
  if (auto environment = MakeEnvironment(arguments.environment, arguments.options);
      !environment.ok())
    return environment.status();
  Signals signals;
  ClientOptions options;
  options.name = arguments.name;
  options.pace = arguments.pace;
  options.without_policy = WithoutPolicy::kWait;
  options.accept_reset = true;
  const LogLevel least = common.quiet ? LogLevel::kError : LogLevel::kWarning;
  options.log = [least](LogLevel level, std::string_view message) {
    if (level >= least) std::cerr << std::string(message) + '\n';
  };
  auto client = Client::Connect(arguments.connect, std::move(options));
  if (!client.ok()) return client.status();
  Playing playing(client->get(), OptionsOf(arguments), &signals);
  const Status status = Watch(**client, arguments, playing, &signals, common);
  if (!playing.Stop(&signals)) {
    // It waits inside Act for a learner that has nothing for it: no goodbye would be heard, and
    // nothing of ours outlives the process.
    if (!status.ok()) std::cerr << status.message() << '\n';
    RemoveRuntimeFolder();
    _exit(static_cast<int>(status.code()));
  }
  if (!status.ok()) return status;
  if (!playing.result().ok()) return playing.result().status();
  if (!common.quiet) PrintResult(*playing.result(), (*client)->Stats());
  return 0;
}

std::string EnvironmentList() {
  std::string names;
  for (const std::string& name : EnvironmentNames()) names += (names.empty() ? "" : ", ") + name;
  return names;
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

/// The words after `sensors` belong to another program: they are passed on unread, --help too.
void AddSensors(CLI::App* app, CLI::App* actor, CommandLine* line) {
  auto* sensors = actor->add_subcommand(
      "sensors", "A made-up fleet of sensors for [stream.NAME], over an MQTT broker or ZeroMQ");
  sensors->preparse_callback([app, line](std::size_t following) {
    const CLI::Option* quiet = app->get_option("--quiet");
    line->chosen = [line, following,
                    is_quiet = quiet->count() > 0 && quiet->as<bool>()]() -> Result<int> {
      const auto end = line->words.end();
      return RunSensors(is_quiet, {end - static_cast<std::ptrdiff_t>(following), end});
    };
    throw CLI::Success();  // nothing is left to parse
  });
}

}  // namespace

void AddActor(CLI::App* app, CommandLine* line) {
  auto given = std::make_shared<ActorArguments>();
  auto* actor = app->add_subcommand("actor", "A built-in environment as an actor of a learner");
  actor->add_option("ENV", given->environment,
                    "One of " + EnvironmentList() +
                        " (random: a client to test a learner), or sensors, which has options "
                        "of its own");
  actor->add_option("--connect", given->connect, "The learner's address")->capture_default_str();
  actor->add_option("--agents", given->agents, "Agents that play at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  actor
      ->add_option_function<std::string>(
          "--pace", [given](const std::string& word) { given->pace = PaceOf(word); },
          "What it waits for: never (drops what the learner cannot take), credit (the default) or "
          "lockstep (also for each new version)")
      ->type_name("never|credit|lockstep");
  actor->add_option("--steps", given->steps, "End after so many steps");
  actor
      ->add_option("--patience", given->patience_s,
                   "Seconds to wait for a learner that is gone; 0: for ever")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
  actor->add_option("--seed", given->seed, "Of the environments; without it another each time");
  actor->add_option("--name", given->name, "How the learner shows it")->capture_default_str();
  actor->add_option("--model", given->model, "Which model it plays")->capture_default_str();
  AddEnvironmentOptions(actor, given.get());
  AddSensors(app, actor, line);
  actor->callback([line, actor, given] {
    if (!actor->get_subcommands().empty()) return;
    if (given->environment.empty()) throw CLI::RequiredError("ENV");
    line->chosen = [line, given] { return RunActor(line->common, *given); };
  });
}

}  // namespace murmurate
