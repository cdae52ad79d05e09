// What a game pays: Act with sampling and recording, the call that hands a trajectory over, and the
// whole CartPole actor loop; beside a live learner (ingest, weights published 100 times a second).
//
// The game's thread has one core, everything else the other. Each call is timed by itself, in turns
// with an empty timed loop, whose tail is what this machine does to anybody.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "client/environments/cartpole.h"
#include "client/environments/play.h"
#include "murmurate/client.h"
#include "server/measure/limits.h"
#include "server/measure/live_learner.h"
#include "shared/core/clock.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

constexpr int kLength = 128;

void PinTo(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) {
    std::printf("core %d cannot be had: figures are of threads that share cores\n", core);
  }
}

double Percentile(std::vector<std::uint32_t>& ns, double part) {
  if (ns.empty()) return 0;
  const auto at =
      ns.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(ns.size() - 1));
  std::nth_element(ns.begin(), at, ns.end());
  return *at * 1e-3;
}

/// What the system takes to wake a thread that sleeps in poll on the other core.
std::vector<std::uint32_t> TimeWakes() {
  WakeSignal wake;
  std::atomic<bool> over{false};
  std::atomic<int> woken{0};
  std::thread sleeper([&] {
    PinTo(1);
    while (!over.load()) {
      (void)Poller(&wake).Wait({}, 100);
      ++woken;
    }
  });
  std::vector<std::uint32_t> ns;
  for (int i = 0; i < 3000; ++i) {
    const int before = woken.load();
    const std::int64_t start = MonotonicNs();
    while (MonotonicNs() - start < 30'000) {
    }
    const std::int64_t set = MonotonicNs();
    wake.Set();
    ns.push_back(static_cast<std::uint32_t>(MonotonicNs() - set));
    const std::int64_t deadline = set + kNanosecondsPerSecond;
    while (woken.load() == before && MonotonicNs() < deadline) {
    }
  }
  over.store(true);
  wake.Set();
  sleeper.join();
  return ns;
}

struct Timings {
  std::uint64_t allocations = 0;  // and frees, in all turns
  std::vector<std::uint32_t> act, empty;
  std::uint64_t first_act = 0;            ///< of the agent's life
  std::vector<std::uint64_t> hand_overs;  ///< the steps of the agent after which there was one
};

/// Turns of Act and of nothing, each call timed.
Timings TimeCalls(Agent& agent, std::uint64_t acted, int turns) {
  constexpr int kTurn = 10000;
  Timings timings;
  timings.first_act = acted;
  timings.act.reserve(static_cast<std::size_t>(turns) * kTurn);
  timings.empty.reserve(timings.act.capacity());
  std::vector<float> observations(4 * 1024);
  Random random(3);
  for (float& x : observations) x = static_cast<float>(random.Normal());
  const std::uint64_t before_all = Allocations() + Frees();
  for (int turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < kTurn; ++i) {
      const std::int64_t before = MonotonicNs();
      agent.Act({observations.data() + 4 * (i % 1024), 4});
      timings.act.push_back(static_cast<std::uint32_t>(MonotonicNs() - before));
      agent.Reward(1.0);
      if (i % 200 == 199) agent.End(kTerminated);
    }
    for (int i = 0; i < kTurn; ++i) {
      const std::int64_t before = MonotonicNs();
      std::atomic_signal_fence(std::memory_order_seq_cst);
      timings.empty.push_back(static_cast<std::uint32_t>(MonotonicNs() - before));
    }
  }
  timings.allocations = Allocations() + Frees() - before_all;
  return timings;
}

struct Split {
  std::vector<std::uint32_t> handing, plain;
};

/// Every trajectory here has all its steps: where one was handed over, all were, those too that
/// were dropped when the other core was late.
Split SplitAtHandOvers(const Timings& timings) {
  Split split;
  const std::uint64_t place = timings.hand_overs.empty() ? 0 : timings.hand_overs.back() % kLength;
  for (std::size_t i = 0; i < timings.act.size(); ++i) {
    const bool hands_over = (timings.first_act + i) % kLength == place;
    (hands_over ? split.handing : split.plain).push_back(timings.act[i]);
  }
  return split;
}

/// What the figures need; without it the program ends with the sentence.
template <typename T>
T Made(Result<T> made) {
  if (made.ok()) return *std::move(made);
  std::fprintf(stderr, "%s\n", made.status().message().c_str());
  std::exit(static_cast<int>(made.status().code()));
}

/// Times a model that is acted by as `act` says, on core 0, beside a learner.
Timings TimeActing(LiveLearner::Options options, const ActSettings& act, int turns) {
  PinTo(1);  // whatever threads are made from here on
  options.act = act;
  const auto learner = Made(LiveLearner::Make(options));
  auto client = Made(
      Client::Connect(options.address, {.name = "bench", .without_policy = WithoutPolicy::kWait}));
  PinTo(0);
  Agent agent = client->NewAgent({.observation = Box({4}), .action = Discrete(2)});
  const std::vector<float> observation(4);
  for (int i = 0; i < 10000; ++i) agent.Act(observation), agent.Reward(0);
  const std::uint64_t acted = client->Stats().steps;
  Timings timings = TimeCalls(agent, acted, turns);
  timings.hand_overs = learner->PopHandOvers();
  if (const std::uint64_t dropped = client->Stats().trajectories_dropped; dropped > 0)
    std::printf("trajectories dropped: %llu\n", static_cast<unsigned long long>(dropped));
  return timings;
}

void PrintCalls(Timings timings) {
  Split split = SplitAtHandOvers(timings);
  std::vector<std::uint32_t>&plain = split.plain, &handing = split.handing;
  const double tail = Percentile(plain, 0.999), empty_tail = Percentile(timings.empty, 0.999);
  const double empty = Percentile(timings.empty, 0.5);
  const bool under = tail <= 2.0;
  const auto row = [](std::string name, double ours, double limit, double target, bool ratio) {
    Print({.name = std::move(name),
           .unit = "us",
           .ours = ours,
           .limit = limit,
           .target = target,
           .target_is_ratio = ratio,
           .smaller_is_better = true});
  };
  row("Act 4-64-64-2, p50 (limit: an empty timed loop)", Percentile(plain, 0.5), empty, 0.4, false);
  row("Act 4-64-64-2, p99.9", tail, empty_tail, under ? 2.0 : 1.5, !under);
  std::vector<std::uint32_t> wakes = TimeWakes();
  row("hand-over, p50 (limit: waking a thread)", Percentile(handing, 0.5), Percentile(wakes, 0.5),
      10, false);
  row("hand-over, p99", Percentile(handing, 0.99), Percentile(wakes, 0.99), 10, false);
  std::printf("allocations in %zu Acts: %llu, target 0: %s\n", timings.act.size(),
              static_cast<unsigned long long>(timings.allocations),
              timings.allocations == 0 ? "met" : "MISSED");
}

/// Processor time of this thread: the loop never waits, and other programs do not count.
double ThreadNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

double CartPoleAlone() {
  CartPole game;
  game.Reset(1);
  Random random(2);
  constexpr int kSteps = 200000;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double start = ThreadNs();
    for (int i = 0; i < kSteps; ++i) {
      const StepOutcome outcome = game.Push(static_cast<int>(random.UniformInt(2)));
      if (outcome.terminated || outcome.truncated) game.Reset();
    }
    best = std::min(best, (ThreadNs() - start) / kSteps);
  }
  return best;
}

void MeasureLoop(const std::string& address) {
  auto client =
      Made(Client::Connect(address, {.name = "loop", .without_policy = WithoutPolicy::kWait}));
  PinTo(0);
  double best = 1e9;
  for (int round = 0; round < 6; ++round) {
    PlayOptions options;
    options.steps = 200000;
    const double start = ThreadNs();
    const auto played = PlayLoop(*client, options);
    if (!played.ok()) std::abort();
    const double ns = (ThreadNs() - start) / static_cast<double>(played->steps);
    if (round > 0) best = std::min(best, ns);
  }
  Print({.name = "CartPole actor loop, a step (limit: the environment alone)",
         .unit = "ns",
         .ours = best,
         .limit = CartPoleAlone(),
         .target = 500,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

/// The same network as values of choices: greedy, one choice in twenty at random.
void PrintQNetwork(const LiveLearner::Options& options) {
  constexpr int kRounds = 3;
  std::vector<double> values, policies;
  for (int round = 0; round < kRounds; ++round) {
    Split of_policy = SplitAtHandOvers(TimeActing(options, {}, 20));
    policies.push_back(Percentile(of_policy.plain, 0.5));
    Split of_values = SplitAtHandOvers(
        TimeActing(options, {.mode = ActSettings::Mode::kEpsilon, .epsilon = 0.05f}, 20));
    values.push_back(Percentile(of_values.plain, 0.5));
  }
  std::ranges::sort(values);
  std::ranges::sort(policies);
  Print({.name = "Act 4-64-64-2 of a Q network, p50 (limit: of a policy)",
         .unit = "us",
         .ours = values[kRounds / 2],
         .limit = policies[kRounds / 2],
         .target = 1.0,
         .target_is_ratio = true,
         .smaller_is_better = true});
}

int Main() {
  PinTo(1);
  LiveLearner::Options options;
  options.address = "ipc://" + Made(RuntimeFolder()) + "/act-bench";
  options.trajectory_length = kLength;
  options.spec.spaces = {Box({4}), Discrete(2)};
  options.spec.trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}};
  PrintCalls(TimeActing(options, {}, 60));
  PrintQNetwork(options);
  PinTo(1);
  {
    const auto learner = Made(LiveLearner::Make(options));
    MeasureLoop(options.address);
  }
  RemoveRuntimeFolder();
  return 0;
}

}  // namespace
}  // namespace murmurate

int main() { return murmurate::Main(); }
