// A daemon that has nothing to do leaves the processor alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/server/process.h"

namespace murmurate {
namespace {

/// How often threads of the process have gone to sleep so far, each of which a wake follows.
long SleepsOf(pid_t pid) {
  const std::string counter = "voluntary_ctxt_switches:";
  long sleeps = 0;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(counter)) sleeps += std::stol(line.substr(counter.size()));
  }
  return sleeps;
}

/// Over three seconds, again until they are few or half a minute has passed: what the daemon had to
/// do before may take some.
double WakesASecond(const Process& process) {
  constexpr double kSeconds = 3;
  double wakes = 0;
  (void)Eventually(27, [&] {
    const long before = SleepsOf(process.pid());
    std::this_thread::sleep_for(std::chrono::duration<double>(kSeconds));
    wakes = static_cast<double>(SleepsOf(process.pid()) - before) / kSeconds;
    return wakes < 2;
  });
  return wakes;
}

TEST(Idle, ADaemonThatKnowsNoModelWakesLessThanTwiceASecond) {
  Workplace place;
  Process serve(place.path(),
                {"serve", "--set", "server.listen=[\"ipc\"]", "--set", "run.name=idle"});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  EXPECT_LT(WakesASecond(serve), 2);
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0) << "a loop that sleeps is not woken";
}

TEST(Idle, ADaemonWhoseActorsHaveLeftWakesLessThanTwiceASecondAndStillLearns) {
  Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(), {"serve", "cartpole", "--set", "server.listen=[\"" + address + "\"]",
                               "--set", "run.name=idle", "--set", "run.log_interval_s=5"});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  const auto play = [&] {
    return RunMurmurate(place.path(), {"actor", "cartpole", "--connect", address, "--agents", "8",
                                       "--steps", "4096", "--quiet"})
        .code;
  };
  EXPECT_EQ(play(), 0);
  EXPECT_LT(WakesASecond(serve), 2);
  EXPECT_EQ(play(), 0) << "it sleeps too deeply";
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0) << "a loop that sleeps is not woken";
}

}  // namespace
}  // namespace murmurate
