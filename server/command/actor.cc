#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <iostream>
#include <thread>

#include "client/environments/play.h"
#include "server/command/commands.h"
#include "server/daemon/signals.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

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

/// How long a learner that answered once has not.
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

/// Until a signal, the end of play, or a learner that sent us away; what it refused us for.
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

}  // namespace

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
    // It waits inside Act for a learner that has nothing for it: there is nobody to say goodbye to,
    // and nothing of ours outlives the process.
    if (!status.ok()) std::cerr << status.message() << '\n';
    RemoveRuntimeFolder();
    _exit(static_cast<int>(status.code()));
  }
  if (!status.ok()) return status;
  if (!playing.result().ok()) return playing.result().status();
  if (!common.quiet) PrintResult(*playing.result(), (*client)->Stats());
  return 0;
}

}  // namespace murmurate
