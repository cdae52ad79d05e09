// What learning costs a frame: games whose frame is a millisecond of their own work and one Act and
// Reward of an agent with a net of 7 MB, played beside a learner that publishes it ten times a
// second and takes what was played (ON), and from a policy file with no learner at all (OFF).
//
//   bench_frame_time [shm|tcp] [milliseconds from frame to frame] [games at once] [rounds] [cores]
//
// ON and OFF take turns, in processes of their own, a few seconds each; while OFF plays, the
// learner publishes nothing. It runs behind everybody (SCHED_IDLE), as if it were on another
// machine: what is measured is what the client costs. A pair of turns in which other programs took
// more than [cores], a twentieth, is thrown away. A frame's time is that of its work, not of the
// pause after it. The same processes say what they hold in memory.
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "murmurate/client.h"
#include "server/measure/limits.h"
#include "server/measure/live_learner.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/safetensors.h"
#include "shared/model/weights_file.h"

namespace murmurate {
namespace {

constexpr int kInputs = 96;
constexpr std::int64_t kWorkNs = kNanosecondsPerMillisecond;
constexpr std::int64_t kPublishEveryNs = 100 * kNanosecondsPerMillisecond;
constexpr double kTurnS = 3.0;
constexpr int kUnmeasured = 100;  // frames at the beginning of a turn

PolicyAndValue SevenMegabytes() {
  PolicyAndValue spec;
  spec.spaces = {Box({kInputs}), Discrete(8)};
  spec.trunk = {{1024, Activation::kTanh}, {1600, Activation::kTanh}};
  return spec;
}

/// A game's own work: arithmetic over 256 KiB, always the same amount.
class Work {
 public:
  void Pass() {
    for (float& x : numbers_) x = x * 0.999f + 0.001f;
    asm volatile("" : : "r"(numbers_.data()) : "memory");
  }

 private:
  std::vector<float> numbers_ = std::vector<float>(64 * 1024, 0.5f);
};

/// What one game found in one turn; its frames follow it through the pipe.
struct Turn {
  std::uint64_t frames = 0, weights_received = 0, trajectories_sent = 0, trajectories_dropped = 0;
  double seconds = 0;
  long empty_kib = 0;  ///< resident before there was a client
  long resident_kib = 0, anonymous_kib = 0, shared_kib = 0, file_kib = 0;
};

long StatusKib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::atol(line.c_str() + field.size() + 1);
  }
  return 0;
}

std::string Quoted(const char* text) { return std::string("\"") + text + "\""; }

[[noreturn]] void Fail(const std::string& sentence) {
  std::fprintf(stderr, "frame_time: %s\n", sentence.c_str());
  std::exit(70);
}

/// This thread and those it starts: behind all others, or among them.
void RunBehind(bool behind) {
  const sched_param none{};
  if (sched_setscheduler(0, behind ? SCHED_IDLE : SCHED_OTHER, &none) != 0) {
    Fail("the scheduler refuses");
  }
}

void SleepUntil(std::int64_t ns) {
  const timespec until{ns / kNanosecondsPerSecond, ns % kNanosecondsPerSecond};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
}

struct Game {
  std::unique_ptr<Client> client;
  Agent agent;
  int passes = 0;
  std::int64_t every_ns = 0;
  Work work = {};
  Random random{static_cast<std::uint64_t>(getpid())};
  std::vector<float> observation = std::vector<float>(kInputs);

  std::int64_t Frame() {
    for (float& x : observation) x = static_cast<float>(random.Normal());
    const std::int64_t start_ns = MonotonicNs();
    for (int i = 0; i < passes; ++i) work.Pass();
    agent.Act(observation);
    agent.Reward(1.0);
    return MonotonicNs() - start_ns;
  }

  std::vector<std::uint32_t> Play(int frames) {
    std::vector<std::uint32_t> ns;
    ns.reserve(static_cast<std::size_t>(frames));
    std::int64_t next_ns = MonotonicNs();
    for (int i = 0; i < frames; ++i) {
      next_ns = std::max(next_ns + every_ns, MonotonicNs());
      SleepUntil(next_ns);
      ns.push_back(static_cast<std::uint32_t>(Frame()));
      if (i % 500 == 499) agent.End(kTerminated);
    }
    return ns;
  }
};

void WriteAll(int fd, const void* from, std::size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t wrote = write(fd, at, bytes);
    if (wrote <= 0) Fail("cannot write a turn's frames");
    at += wrote, bytes -= static_cast<std::size_t>(wrote);
  }
}

/// --game LEARNER POLICY FD FRAMES PASSES EVERY_NS; LEARNER is - for OFF.
int BeGame(char** arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  RunBehind(false);
  const std::string address = arguments[0];
  const int fd = std::atoi(arguments[2]), frames = std::atoi(arguments[3]);
  Turn turn;
  turn.empty_kib = StatusKib("VmRSS");
  Game game;
  const bool on = address != "-";
  ClientOptions options;
  options.without_policy = WithoutPolicy::kWait;
  if (!on) options.policy = PolicySource::FromFile(arguments[1]);
  auto client = on ? Client::Connect(address, options) : Client::Open(options);
  if (!client.ok()) Fail(client.status().message());
  game.client = std::move(*client);
  game.agent = game.client->NewAgent({.observation = Box({kInputs}), .action = Discrete(8)});
  game.passes = std::atoi(arguments[4]);
  game.every_ns = std::atol(arguments[5]);
  (void)game.Play(kUnmeasured);
  const ClientStats before = game.client->Stats();
  const std::int64_t start_ns = MonotonicNs();
  const std::vector<std::uint32_t> ns = game.Play(frames);
  turn.seconds = static_cast<double>(MonotonicNs() - start_ns) * 1e-9;
  const ClientStats after = game.client->Stats();
  turn.frames = ns.size();
  turn.weights_received = after.weights_received - before.weights_received;
  turn.trajectories_sent = after.trajectories_sent - before.trajectories_sent;
  turn.trajectories_dropped = after.trajectories_dropped - before.trajectories_dropped;
  turn.resident_kib = StatusKib("VmRSS");
  turn.anonymous_kib = StatusKib("RssAnon");
  turn.shared_kib = StatusKib("RssShmem");
  turn.file_kib = StatusKib("RssFile");
  WriteAll(fd, &turn, sizeof turn);
  WriteAll(fd, ns.data(), ns.size() * sizeof ns[0]);
  return 0;
}

/// Processor seconds that have gone: of the machine, and of this process and its ended children.
struct Gone {
  double machine = 0, ours = 0;
  std::int64_t at_ns = MonotonicNs();

  static double Of(int who) {
    rusage use{};
    getrusage(who, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
  }
  static Gone Now() {
    Gone gone;
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double ticks[8] = {};  // user nice system idle iowait irq softirq steal
    stat >> cpu;
    for (double& t : ticks) stat >> t;
    gone.machine = (ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7]) /
                   static_cast<double>(sysconf(_SC_CLK_TCK));
    gone.ours = Of(RUSAGE_SELF) + Of(RUSAGE_CHILDREN);
    return gone;
  }
  /// Cores that others had since `before`.
  double OthersSince(const Gone& before) const {
    return (machine - before.machine - (ours - before.ours)) /
           (static_cast<double>(at_ns - before.at_ns) * 1e-9);
  }
};

struct Started {
  pid_t pid = 0;
  int fd = -1;
};

struct Side {
  std::string name;
  std::vector<std::uint32_t> ns = {};
  std::vector<Turn> turns = {};

  void Add(const Started& started) {
    FILE* const pipe = fdopen(started.fd, "rb");
    Turn turn;
    if (std::fread(&turn, sizeof turn, 1, pipe) != 1) Fail("a game ended without its frames");
    std::vector<std::uint32_t> frames(turn.frames);
    if (std::fread(frames.data(), sizeof frames[0], frames.size(), pipe) != frames.size()) {
      Fail("a game ended within its frames");
    }
    std::fclose(pipe);
    waitpid(started.pid, nullptr, 0);
    ns.insert(ns.end(), frames.begin(), frames.end());
    turns.push_back(turn);
  }
  void Add(const Side& more) {
    ns.insert(ns.end(), more.ns.begin(), more.ns.end());
    turns.insert(turns.end(), more.turns.begin(), more.turns.end());
  }
  double Ms(double part) const {
    std::vector<std::uint32_t> sorted = ns;
    const auto at = static_cast<std::ptrdiff_t>(part * static_cast<double>(sorted.size() - 1));
    std::nth_element(sorted.begin(), sorted.begin() + at, sorted.end());
    return sorted[static_cast<std::size_t>(at)] * 1e-6;
  }
  template <typename Of>
  double Mean(Of of) const {
    double sum = 0;
    for (const Turn& turn : turns) sum += static_cast<double>(of(turn));
    return sum / static_cast<double>(turns.size());
  }
};

struct Plan {
  std::string address, policy;
  bool shm = true;
  double every_ms = 4.0;
  int games = 2, rounds = 5, passes = 0;
  double most_of_others = 0.05;  ///< of a core
};

Started StartGame(const Plan& plan, bool on) {
  int ends[2];
  if (pipe(ends) != 0) Fail("no pipe to be had");
  const std::array<std::string, 6> arguments = {
      on ? plan.address : "-",     plan.policy,
      std::to_string(ends[1]),     std::to_string(static_cast<int>(kTurnS * 1e3 / plan.every_ms)),
      std::to_string(plan.passes), std::to_string(static_cast<std::int64_t>(plan.every_ms * 1e6))};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    execl("/proc/self/exe", "frame_time", "--game", arguments[0].c_str(), arguments[1].c_str(),
          arguments[2].c_str(), arguments[3].c_str(), arguments[4].c_str(), arguments[5].c_str(),
          nullptr);
    _exit(70);
  }
  close(ends[1]);
  return {child, ends[0]};
}

void PlayTurn(const Plan& plan, LiveLearner& learner, bool on, Side* side) {
  learner.Pause(!on);
  std::vector<Started> games;
  for (int i = 0; i < plan.games; ++i) games.push_back(StartGame(plan, on));
  for (const Started& game : games) side->Add(game);
  (void)learner.PopHandOvers();
}

/// A pair of turns; false when others took part.
bool PlayRound(const Plan& plan, LiveLearner& learner, bool on_first, Side* on, Side* off) {
  Side now_on{""}, now_off{""};
  const Gone before = Gone::Now();
  PlayTurn(plan, learner, on_first, on_first ? &now_on : &now_off);
  PlayTurn(plan, learner, !on_first, on_first ? &now_off : &now_on);
  if (Gone::Now().OthersSince(before) > plan.most_of_others) return false;
  on->Add(now_on);
  off->Add(now_off);
  return true;
}

void PrintSide(const Side& side) {
  const double seconds = side.Mean([](const Turn& t) { return t.seconds; });
  std::printf("%-3s %6zu frames: p50 %.3f, p99 %.3f, p99.9 %.3f, longest %.3f ms; ",
              side.name.c_str(), side.ns.size(), side.Ms(0.5), side.Ms(0.99), side.Ms(0.999),
              side.Ms(1));
  std::printf("a second: %.1f versions, %.2f trajectories sent, %.2f dropped\n",
              side.Mean([](const Turn& t) { return t.weights_received; }) / seconds,
              side.Mean([](const Turn& t) { return t.trajectories_sent; }) / seconds,
              side.Mean([](const Turn& t) { return t.trajectories_dropped; }) / seconds);
  const auto mib = [&](long Turn::*field) {
    return side.Mean([field](const Turn& t) { return t.*field; }) / 1024;
  };
  std::printf("    resident %.1f MiB (anonymous %.1f, shared memory %.1f, files %.1f); ",
              mib(&Turn::resident_kib), mib(&Turn::anonymous_kib), mib(&Turn::shared_kib),
              mib(&Turn::file_kib));
  std::printf("before there was a client %.1f\n", mib(&Turn::empty_kib));
}

void PrintRows(const Plan& plan, const Side& on, const Side& off, double weights_mib) {
  const std::string way = plan.shm ? " (shared memory)" : " (tcp)";
  BenchRow row;
  row.smaller_is_better = true;
  row.target_is_ratio = false;
  row.unit = "ms";
  row.name = "frame p99.9, learning on, limit off" + way;
  row.ours = on.Ms(0.999);
  row.limit = off.Ms(0.999);
  row.target = row.limit + 0.1;
  Print(row);
  row.unit = "MiB";
  row.name = "resident with a learner, limit the weights" + way;
  row.ours = on.Mean([](const Turn& t) { return t.resident_kib; }) / 1024;
  row.limit = weights_mib;
  row.target = 3 * weights_mib + 8;
  Print(row);
}

void WritePolicy(const Plan& plan, const ModelSpec& spec, const AlignedFloats& parameters) {
  WeightsFile file{spec, 1, 0, AlignedFloats(parameters.size())};
  std::copy(parameters.begin(), parameters.end(), file.parameters.begin());
  const std::string bytes = FormatWeightsFile(file, true);
  const Status written =
      WriteFileAtomically(plan.policy, std::as_bytes(std::span<const char>(bytes)));
  if (!written.ok()) Fail(written.message());
}

int Main(int argc, char** argv) {
  Plan plan;
  if (argc > 1) plan.shm = std::strcmp(argv[1], "tcp") != 0;
  if (argc > 1 && plan.shm && std::strcmp(argv[1], "shm") != 0) {
    Fail("expected shm or tcp, got " + Quoted(argv[1]));
  }
  if (argc > 2) plan.every_ms = std::atof(argv[2]);
  if (argc > 3) plan.games = std::atoi(argv[3]);
  if (argc > 4) plan.rounds = std::atoi(argv[4]);
  if (argc > 5) plan.most_of_others = std::atof(argv[5]);
  const auto folder = RuntimeFolder();
  if (!folder.ok()) Fail(folder.status().message());
  plan.policy = *folder + "/frame-time.safetensors";
  plan.address = plan.shm ? "ipc://" + *folder + "/frame-time"
                          : "tcp://127.0.0.1:" + std::to_string(20000 + getpid() % 10000 * 3);
  Work work;
  plan.passes =
      static_cast<int>(static_cast<double>(kWorkNs) * 1e-9 / SecondsPerCall([&] { work.Pass(); }));
  const PolicyAndValue spec = SevenMegabytes();
  const double weights_mib = static_cast<double>(PayloadBytes(ParameterLayout(spec))) / (1 << 20);
  Side on{"ON"}, off{"OFF"};
  int thrown_away = 0;
  RunBehind(true);
  {
    const auto learner = LiveLearner::Make({.address = plan.address,
                                            .spec = spec,
                                            .shm = plan.shm,
                                            .publish_every_ns = kPublishEveryNs});
    if (!learner.ok()) Fail(learner.status().message());
    WritePolicy(plan, spec, (*learner)->parameters());
    std::printf("weights %.2f MiB, %d games at once, %.1f ms from frame to frame, %d rounds\n",
                weights_mib, plan.games, plan.every_ms, plan.rounds);
    for (int round = 0; round < plan.rounds; ++round) {
      thrown_away += !PlayRound(plan, **learner, round % 2 == 0, &on, &off);
    }
  }
  std::printf("rounds thrown away: %d\n", thrown_away);
  if (on.ns.empty()) Fail("other programs took part in all of them: stop them first");
  PrintSide(on);
  PrintSide(off);
  PrintRows(plan, on, off, weights_mib);
  (void)std::remove(plan.policy.c_str());
  RemoveRuntimeFolder();
  return 0;
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  if (argc == 8 && std::strcmp(argv[1], "--game") == 0) return murmurate::BeGame(argv + 2);
  return murmurate::Main(argc, argv);
}
