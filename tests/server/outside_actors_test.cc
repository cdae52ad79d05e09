// One shard, two daemons and actors from outside, by the lines that docs/distributed.md has for five
// terminals, typed as they stand there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// Takes this process and its children to a network of their own, where the ports that the lines
/// name are free; where that is not allowed they stay in this one.
void TakeOwnNetwork() {
  if (unshare(CLONE_NEWNET) != 0) return;
  const int any = socket(AF_INET, SOCK_DGRAM, 0);
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  EXPECT_EQ(ioctl(any, SIOCSIFFLAGS, &loopback), 0);
  close(any);
}

/// The lines of the first block of code below a heading of the page, as words.
std::vector<std::vector<std::string>> LinesBelow(const std::string& heading) {
  std::ifstream page(MURMURATE_SOURCES "/docs/distributed.md");
  std::vector<std::vector<std::string>> lines;
  bool below = false, inside = false;
  for (std::string line; std::getline(page, line);) {
    below = below || line == heading;
    if (!below) continue;
    if (line.starts_with("```")) {
      if (inside) return lines;
      inside = true;
    } else if (inside) {
      std::istringstream words(line);
      auto& typed = lines.emplace_back();
      for (std::string word; words >> word;) typed.push_back(word);
    }
  }
  return lines;
}

TEST(OutsideActors, SolveCartPoleByTheLinesOfThePage) {
  TakeOwnNetwork();
  const auto lines = LinesBelow("### One shard, two daemons, actors from outside");
  ASSERT_EQ(lines.size(), 5u);
  Workplace place;
  std::vector<std::unique_ptr<Process>> terminals;
  for (const auto& line : lines) {
    ASSERT_EQ(line.at(0), "murmurate");
    terminals.push_back(std::make_unique<Process>(
        place.path(), std::vector<std::string>(line.begin() + 1, line.end())));
  }
  for (const std::size_t daemon : {1u, 2u}) {
    EXPECT_EQ(terminals[daemon]->Wait(100), 0) << terminals[daemon]->Errors();
    EXPECT_TRUE(terminals[daemon]->Says("stopped: the run reached stop_at_return") ||
                terminals[daemon]->Says("the run reached stop_at_return", 1))
        << terminals[daemon]->Output() << terminals[daemon]->Errors();
  }
  EXPECT_EQ(terminals[0]->Wait(30), 0) << terminals[0]->Errors();
  EXPECT_TRUE(terminals[0]->Says("default: worker 1 joined"));
  for (const std::size_t actor : {3u, 4u}) {
    EXPECT_EQ(terminals[actor]->Wait(30), 0) << terminals[actor]->Errors();
    EXPECT_THAT(terminals[actor]->Output() + terminals[actor]->Errors(), HasSubstr("episodes"));
  }
  EXPECT_EQ(place.LeftBehind(), "");
}

}  // namespace
}  // namespace murmurate
