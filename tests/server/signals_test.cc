// Signals in processes of their own.
#include "server/daemon/signals.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace murmurate {
namespace {

/// What a child of a process that is killed does. `said`: the end of a pipe to write to.
[[noreturn]] void EndAfterTheFirstSignal(int said) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  Signals signals;
  (void)!write(said, "1", 1);
  if (signals.Wait(20'000) != Signals::Event::kSignal) _exit(1);
  usleep(50'000);  // as long as the last files may take
  (void)!write(said, "2", 1);
  _exit(0);
}

/// A parent of many threads: the kernel tells its child of the death of each that it was given to.
[[noreturn]] void Wait(int said) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) threads.emplace_back([] { pause(); });
  if (fork() == 0) EndAfterTheFirstSignal(said);
  close(said);
  for (;;) pause();
}

TEST(Signals, TheDeathOfAParentWithManyThreadsIsOneSignal) {
  for (int i = 0; i < 20; ++i) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t parent = fork();
    if (parent == 0) Wait(ends[1]);
    close(ends[1]);
    char word = 0;
    ASSERT_EQ(read(ends[0], &word, 1), 1);
    kill(parent, SIGKILL);
    waitpid(parent, nullptr, 0);
    EXPECT_EQ(read(ends[0], &word, 1), 1) << "the child was ended before it was through";
    close(ends[0]);
  }
}

TEST(Signals, ASecondOneEndsTheProcessAtOnce) {
  const pid_t child = fork();
  if (child == 0) {
    Signals signals;
    raise(SIGTERM);
    if (signals.Wait(20'000) != Signals::Event::kSignal) _exit(1);
    raise(SIGTERM);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

}  // namespace
}  // namespace murmurate
