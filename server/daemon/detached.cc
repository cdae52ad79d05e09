#include "server/daemon/detached.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "server/process/child_process.h"

namespace murmurate {

Result<pid_t> StartDetached(const std::vector<std::string>& arguments, const std::string& output) {
  ChildProgram program{.path = kThisExecutable, .arguments = {"murmurate"}, .detached = true};
  program.arguments.insert(program.arguments.end(), arguments.begin(), arguments.end());
  const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0)
    return ResourceError(output + ": cannot be written (" + std::strerror(errno) +
                         "); check the folder's permissions or choose another with --set "
                         "run.dir=DIR");
  program.output = program.errors = file;
  auto pid = StartProgram(program);
  close(file);
  if (!pid.ok())
    return ResourceError("a process cannot be started (" + pid.status().message() +
                         "); take fewer learners or raise the limit of processes (ulimit -u)");
  return pid;
}

std::optional<int> ExitCodeOf(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace murmurate
