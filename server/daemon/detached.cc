#include "server/daemon/detached.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace murmurate {
namespace {

/// Runs in the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void Become(int output, char* const* arguments) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  execv("/proc/self/exe", arguments);
  _exit(127);
}

}  // namespace

Result<pid_t> StartDetached(const std::vector<std::string>& arguments, const std::string& output) {
  static char program[] = "murmurate";
  std::vector<char*> pointers{program};
  for (const std::string& argument : arguments)
    pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return ResourceError(output + ": cannot be written (" + std::strerror(errno) +
                         "); check the folder's permissions or choose another with --set "
                         "run.dir=DIR");
  const pid_t pid = fork();
  if (pid == 0) Become(file, pointers.data());
  const int error = errno;
  close(file);
  if (pid < 0)
    return ResourceError(std::string("a process cannot be started (") + std::strerror(error) +
                         "); take fewer learners or raise the limit of processes (ulimit -u)");
  return pid;
}

std::optional<int> ExitCodeOf(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace murmurate
