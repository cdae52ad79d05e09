// collective_rank ENGINE: one rank of the conformance suite; mpirun starts several. 0: all promises
// held, on the thread that opened the engine and on another, as a learner has it; 1: one did not;
// 5: the engine cannot be opened here.
#include <cstdio>
#include <string>
#include <thread>

#include "tests/parameters/collective_conformance.h"

int main(int, char** arguments) {
  auto collective = murmurate::OpenCollective(arguments[1]);
  if (!collective.ok()) {
    std::fprintf(stderr, "%s\n", collective.status().message().c_str());
    return 5;
  }
  std::string broken = murmurate::BrokenPromise(**collective);
  std::thread([&] {
    if (const std::string there = murmurate::BrokenPromise(**collective); broken.empty())
      broken = there;
  }).join();
  std::printf("rank %d of %d: %s\n", (*collective)->rank(), (*collective)->size(),
              broken.empty() ? "all promises held" : broken.c_str());
  std::fflush(stdout);
  const murmurate::Status closed = (*collective)->Close();
  if (!closed.ok()) std::printf("%s\n", closed.message().c_str());
  return broken.empty() && closed.ok() ? 0 : 1;
}
