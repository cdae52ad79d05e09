// A game that makes a beginner's mistake, for two minutes: wrong_game ADDRESS NAME WAY [LISTENS]
//   WAY      right, nan, no-end, fast (waits for nothing, in a loop without a pause), wide (a space
//            of 5 numbers), five (shows 5 numbers where its space has 4), end (a time limit without
//            the final observation)
//   LISTENS  quiet, or log: its own log function, which writes to stdout
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>

#include "murmurate/client.h"
#include "shared/core/clock.h"

namespace {

murmurate::ClientOptions OptionsOf(const std::string& name, const std::string& way,
                                   const std::string& listens) {
  murmurate::ClientOptions options;
  options.name = name;
  options.pace = way == "fast" ? murmurate::Pace::kNever : murmurate::Pace::kCredit;
  options.quiet = listens == "quiet";
  if (listens == "log") {
    options.log = [](murmurate::LogLevel, std::string_view message) {
      std::cout << message << std::endl;
    };
  }
  return options;
}

void Play(murmurate::Agent* agent, const std::string& way, std::size_t numbers) {
  std::vector<float> seen(numbers, 0.5f);
  const std::int64_t until_ns = murmurate::MonotonicNs() + 120 * murmurate::kNanosecondsPerSecond;
  for (std::uint64_t step = 1; murmurate::MonotonicNs() < until_ns; ++step) {
    seen[2] = way == "nan" && step % 50 == 0 ? std::nanf("") : 0.5f;
    agent->Act(seen);
    agent->Reward(1.0);
    if (step % 20 != 0 || way == "no-end") continue;
    agent->End(way == "end" ? murmurate::kTruncated : murmurate::kTerminated);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const std::string way = argv[3], listens = argc > 4 ? argv[4] : "";
  auto client = murmurate::Client::Connect(argv[1], OptionsOf(argv[2], way, listens));
  if (!client.ok()) return std::fprintf(stderr, "%s\n", client.status().message().c_str()), 1;
  murmurate::Agent agent = (*client)->NewAgent(
      {.observation = murmurate::Box({way == "wide" ? 5 : 4}), .action = murmurate::Discrete(2)});
  if (!agent.valid()) return 1;
  Play(&agent, way, way == "wide" || way == "five" ? 5 : 4);
  return 0;
}
