// A game that says what it holds in memory: before there is a client, and when it has taken up many
// versions. Run by memory_test.cc.
//
//   memory_game ADDRESS VERSIONS -> KiB: resident before, resident at most since, and now:
//   resident, anonymous, of shared memory, of files
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "murmurate/client.h"

namespace {

long Kib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(field + ":")) return std::atol(line.c_str() + field.size() + 1);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  const auto versions = static_cast<std::uint64_t>(std::atol(argv[2]));
  const long before = Kib("VmRSS");
  auto client = murmurate::Client::Connect(argv[1], {.name = "memory"});
  if (!client.ok()) return 70;
  murmurate::Agent agent =
      (*client)->NewAgent({.observation = murmurate::Box({96}), .action = murmurate::Discrete(8)});
  const std::vector<float> observation(96, 0.5f);
  while ((*client)->Stats().weights_received < versions) {
    (void)agent.Act(observation);
    agent.Reward(1.0);
    const timespec frame{0, 2'000'000};
    nanosleep(&frame, nullptr);
  }
  std::printf("%ld %ld %ld %ld %ld %ld\n", before, Kib("VmHWM"), Kib("VmRSS"), Kib("RssAnon"),
              Kib("RssShmem"), Kib("RssFile"));
  return 0;
}
