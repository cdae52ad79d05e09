// The children are this test program again, told by the environment to be one.
#include "server/daemon/children.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "server/daemon/end_with_parent.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr char kRole[] = "MURMURATE_TEST_CHILD";
constexpr int kLifeSeconds = 5;  ///< of a child that nobody ends

/// Before main: a child does nothing but live for a while.
[[maybe_unused]] const bool kIsNoChild = [] {
  if (std::getenv(kRole) == nullptr) return true;
  sleep(kLifeSeconds);
  _exit(0);
}();

class ChildrenTest : public testing::Test {
 protected:
  ChildrenTest() { setenv(kRole, "1", 1); }
  ~ChildrenTest() override { unsetenv(kRole); }
};

void StayOnOneCore() {
  cpu_set_t cores, one;
  sched_getaffinity(0, sizeof cores, &cores);
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core)
    if (CPU_ISSET(core, &cores)) CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

TEST_F(ChildrenTest, EndWithWhoeverStartedThem) {
  {
    Children children;
    ASSERT_TRUE(children.Start({"child"}).ok());
    EXPECT_TRUE(children.CollectEnded().empty());
    EXPECT_EQ(children.alive(), 1);
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "nobody is left";
}

TEST_F(ChildrenTest, DoNotSpeakToTheServiceManagerOfTheirParent) {
  setenv("NOTIFY_SOCKET", "@somewhere", 1);
  setenv("WATCHDOG_USEC", "1000000", 1);
  setenv("WATCHDOG_PID", "1", 1);
  ChildProcess child;
  ASSERT_TRUE(child.Start({.path = kThisExecutable, .arguments = {"child"}}).ok());
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) unsetenv(name);
  std::string text;
  for (int i = 0; i < 10'000 && text.find(kRole) == text.npos; ++i) {  // until it is the child
    usleep(2000);
    std::ifstream file("/proc/" + std::to_string(child.pid()) + "/environ");
    text.assign(std::istreambuf_iterator<char>(file), {});
    std::ifstream command("/proc/" + std::to_string(child.pid()) + "/cmdline");
    const std::string line(std::istreambuf_iterator<char>(command), {});
    if (!line.starts_with("child")) text.clear();
  }
  EXPECT_NE(text.find(kRole), text.npos);
  EXPECT_EQ(text.find("NOTIFY_SOCKET"), text.npos);
  EXPECT_EQ(text.find("WATCHDOG_"), text.npos);
}

TEST_F(ChildrenTest, DoNotOutliveAParentThatDiedBeforeTheyBegan) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans come to us
  for (int round = 0; round < 10; ++round) {
    const std::int64_t start = MonotonicNs();
    const pid_t parent = fork();
    if (parent == 0) {
      StayOnOneCore();  // the new child waits for this core
      auto* children = new Children;
      (void)children->Start({"child"});
      _exit(0);
    }
    ASSERT_EQ(waitpid(parent, nullptr, 0), parent);
    int status = -1;
    const pid_t orphan = waitpid(-1, &status, 0);
    ASSERT_GT(orphan, 0);
    ASSERT_LT(MonotonicNs() - start, kLifeSeconds * kNanosecondsPerSecond) << "it lived its life";
  }
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(EndWithParent, RefusesANumberThatIsNotTheParent) {
  const std::string parent = std::to_string(getppid());
  EXPECT_EQ(EndWithParent(getpid()).message(),
            "--end-with " + std::to_string(getpid()) + ": the parent of this process is " + parent +
                "; give the number of the program that starts murmurate, which must still run");
  EXPECT_TRUE(EndWithParent(getppid()).ok());
  prctl(PR_SET_PDEATHSIG, 0);
}

}  // namespace
}  // namespace murmurate
