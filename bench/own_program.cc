// What a program of one's own pays at a parameter server: murmurate::Parameters (the shared library,
// twenty arrays in memory of their own) beside the exchange that a learner makes (RemoteStore, one
// block), with the same shard and as many numbers. asgd with plain SGD, in shared memory.
//
// The shard is a forked process on one core, the workers take turns on the other. Rounds alternate;
// each number is the median of them, and the ratio that of the pairs.
//   build/release/bench/bench_own_program [rounds]
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "murmurate/parameters.h"
#include "server/parameters/parameter_server.h"
#include "server/parameters/remote_store.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

struct Size {
  const char* name;
  int observation, width;  ///< of two networks: observation x width numbers each, and a few
  int exchanges;           ///< a round
};
constexpr Size kSizes[] = {{"1 KB", 4, 16, 2000},
                           {"100 KB", 100, 128, 500},
                           {"1 MB", 480, 256, 60},
                           {"10 MB", 1600, 768, 8}};
constexpr std::size_t kArrays = 20;

ModelSpec SpecOf(const Size& size) {
  auto spec = ModelSpec::Parse("murmurate-model 1\nobservation float32 " +
                               std::to_string(size.observation) + "\naction discrete 2\ndense " +
                               std::to_string(size.width) +
                               " tanh\nseparate_value 1\nnormalize_observation 0\n");
  MURMURATE_CHECK(spec.ok(), spec.status().message().c_str());
  return *std::move(spec);
}

ShardSettings SettingsOfShard() {
  ShardSettings settings;
  settings.rule = {.name = RuleName::kAsgd, .form = PushForm::kGradient, .window = 1};
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  return settings;
}

void StayOn(int slot) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || slot-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

/// A shard that serves until it is killed.
pid_t ForkShard(const std::string& address) {
  const pid_t pid = fork();
  MURMURATE_CHECK(pid >= 0, "no process");
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  StayOn(0);
  SocketContext context;
  ParameterServerOptions options;
  options.settings = [](const std::string&) { return SettingsOfShard(); };
  options.address = address;
  auto server = ParameterServer::Open(context, options);
  MURMURATE_CHECK(server.ok(), server.status().message().c_str());
  while (true) (*server)->PollOnce(1000);
}

double SecondsOf(int calls, const std::function<void()>& call) {
  const std::int64_t begin = MonotonicNs();
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(MonotonicNs() - begin) * 1e-9 / calls;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Measure(const Size& size, const std::string& address, int rounds) {
  const ModelSpec spec = SpecOf(size);
  const ParameterLayout layout(spec);
  const std::size_t floats = layout.trained_count();
  AlignedFloats parameters(layout.total), gradient(floats);
  RemoteSettings settings;
  settings.shard = SettingsOfShard();
  settings.shards = {address};
  RemoteStore store(settings, std::string("bare-") + std::to_string(floats), spec, {});
  MURMURATE_CHECK(store.BeginBatch(parameters), "no shard");
  const std::span<float> trained{parameters.data(), floats};

  std::vector<std::vector<float>> arrays, gradients;
  std::vector<Parameters::Array> named;
  std::vector<const float*> pointers;
  for (std::size_t i = 0; i < kArrays; ++i) {
    const std::size_t count = floats * (i + 1) / kArrays - floats * i / kArrays;
    arrays.emplace_back(count);
    gradients.emplace_back(count);
  }
  for (std::size_t i = 0; i < kArrays; ++i) {
    named.push_back({"array" + std::to_string(i), {static_cast<int>(arrays[i].size())}, arrays[i]});
    pointers.push_back(gradients[i].data());
  }
  auto options = Parameters::DefaultOptions();
  const std::string model = "own-" + std::to_string(floats);
  options.model = model.c_str();
  auto own = Parameters::Join(address, named, options);
  MURMURATE_CHECK(own.ok(), own.status().message().c_str());

  const auto bare = [&] { (void)store.Step(0.1, gradient, trained); };
  const auto program = [&] { MURMURATE_CHECK(own->Push(pointers, 0.1).ok(), "push"); };
  (void)SecondsOf(size.exchanges, bare), (void)SecondsOf(size.exchanges, program);
  std::vector<double> bare_s, own_s, ratios;
  for (int round = 0; round < rounds; ++round) {
    bare_s.push_back(SecondsOf(size.exchanges, bare));
    own_s.push_back(SecondsOf(size.exchanges, program));
    ratios.push_back(own_s.back() / bare_s.back());
  }
  std::printf("%-7s %9.1f us bare %9.1f us own program   %.3f x\n", size.name, Median(bare_s) * 1e6,
              Median(own_s) * 1e6, Median(ratios));
}

}  // namespace
}  // namespace murmurate

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 15;
  const std::string path = "/tmp/mmr-bench-own-" + std::to_string(getpid());
  const pid_t shard = murmurate::ForkShard("ipc://" + path);
  murmurate::StayOn(1);
  for (const auto& size : murmurate::kSizes) murmurate::Measure(size, "ipc://" + path, rounds);
  kill(shard, SIGKILL);
  waitpid(shard, nullptr, 0);
  std::remove(path.c_str());
}
