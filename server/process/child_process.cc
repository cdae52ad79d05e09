#include "server/process/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <thread>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kPollMs = 2;
constexpr std::array<std::string_view, 3> kOfTheManager = {
    "NOTIFY_SOCKET=", "WATCHDOG_USEC=", "WATCHDOG_PID="};

/// What execve gets, made before fork: nothing is allocated between the two.
struct Pointers {
  std::vector<char*> arguments, environment;
};

Pointers PointersOf(const ChildProgram& program) {
  Pointers pointers;
  for (const std::string& argument : program.arguments)
    pointers.arguments.push_back(const_cast<char*>(argument.c_str()));
  pointers.arguments.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (std::ranges::none_of(kOfTheManager, [&](std::string_view name) {
          return std::string_view(*variable).starts_with(name);
        }))
      pointers.environment.push_back(*variable);
  pointers.environment.push_back(nullptr);
  return pointers;
}

/// Runs in the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void Become(pid_t parent, const ChildProgram& program, const Pointers& pointers) {
  if (program.detached) {
    setsid();
  } else {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // guard: ChildrenTest.DoNotOutliveAParentThatDiedBeforeTheyBegan: a child whose parent died
    //   before PDEATHSIG was set ends at once
    if (getppid() != parent) _exit(0);  // it died before the line above
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  dup2(program.input >= 0 ? program.input : nothing, STDIN_FILENO);
  dup2(program.output >= 0 ? program.output : nothing, STDOUT_FILENO);
  if (program.errors >= 0) dup2(program.errors, STDERR_FILENO);
  execve(program.path.c_str(), pointers.arguments.data(), pointers.environment.data());
  _exit(127);
}

}  // namespace

Result<pid_t> StartProgram(const ChildProgram& program) {
  const Pointers pointers = PointersOf(program);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(parent, program, pointers);
  if (pid < 0) return ResourceError(std::strerror(errno));
  return pid;
}

Status ChildProcess::Start(const ChildProgram& program) {
  MURMURATE_CHECK(!running(), "its last program has ended");
  const auto pid = StartProgram(program);
  if (pid.ok()) pid_ = *pid;
  return pid.status();
}

void ChildProcess::Send(int signal_number) const {
  if (running()) kill(pid_, signal_number);
}

std::optional<std::string> ChildProcess::CollectEnd() {
  if (!running()) return std::nullopt;
  int status = 0;
  const pid_t ended = waitpid(pid_, &status, WNOHANG);
  if (ended == 0) return std::nullopt;
  if (ended == pid_) kill(-pid_, SIGTERM);
  const bool known = ended == pid_;
  pid_ = -1;
  if (!known) return "is gone";
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

void ChildProcess::End(int grace_ms) {
  if (!running()) return;
  if (grace_ms > 0) kill(-pid_, SIGTERM);
  for (int waited = 0; waited < grace_ms && !CollectEnd(); waited += kPollMs)
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  if (!running()) return;
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);  // it may not have its group yet
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace murmurate
