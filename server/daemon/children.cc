#include "server/daemon/children.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

/// Runs in the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void Become(pid_t parent, char* const* arguments) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // guard: ChildrenTest.DoNotOutliveAParentThatDiedBeforeTheyBegan: a child whose parent died
  //   before PDEATHSIG was set ends at once
  if (getppid() != parent) _exit(0);  // it died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing >= 0) {
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
  }
  execv("/proc/self/exe", arguments);
  _exit(127);
}

std::string HowItEnded(pid_t pid, int status) {
  const std::string who = "process " + std::to_string(pid);
  if (WIFSIGNALED(status)) return who + " was ended by signal " + std::to_string(WTERMSIG(status));
  return who + " ended with exit code " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Children::~Children() {
  Send(SIGTERM);
  const std::int64_t deadline = MonotonicNs() + kNanosecondsPerSecond / 2;
  while (!alive_.empty() && MonotonicNs() < deadline) {
    (void)CollectEnded();
    if (!alive_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Send(SIGKILL);
  for (const pid_t pid : alive_) waitpid(pid, nullptr, 0);
}

Status Children::Start(const std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(parent, pointers.data());
  if (pid < 0)
    return ResourceError(std::string("an actor process cannot be started (") +
                         std::strerror(errno) +
                         "); lower run.actors or raise the limit of processes (ulimit -u)");
  alive_.push_back(pid);
  return {};
}

std::vector<std::string> Children::CollectEnded() {
  std::vector<std::string> sentences;
  std::erase_if(alive_, [&](pid_t pid) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == 0) return false;
    sentences.push_back(ended == pid ? HowItEnded(pid, status)
                                     : "process " + std::to_string(pid) + " is gone");
    return true;
  });
  return sentences;
}

void Children::Send(int signal_number) const {
  for (const pid_t pid : alive_) kill(pid, signal_number);
}

}  // namespace murmurate
