#include "server/hooks/hook_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace murmurate {
namespace {

constexpr int kEndPolls = 100;  ///< of 2 ms, between SIGTERM and SIGKILL

void Close(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/// Runs in the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void Become(pid_t parent, const char* command, int input, int output, bool keep_err) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(0);  // it died before the line above
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  dup2(input, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  if (!keep_err) dup2(output, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  _exit(127);
}

Status Failure(const std::string& what) {
  return ResourceError(what + " (" + std::strerror(errno) +
                       "); raise the limits of open files and processes (ulimit -n, -u)");
}

}  // namespace

HookProcess::~HookProcess() { End(); }

Status HookProcess::Start(const std::string& command, const std::string& output) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (pipe2(in, O_CLOEXEC) != 0) return Failure("no pipe can be made");
  if (output.empty()
          ? pipe2(out, O_CLOEXEC) != 0
          : (out[1] = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) < 0) {
    const Status status =
        Failure(output.empty() ? "no pipe can be made" : output + ": cannot be opened");
    close(in[0]);
    close(in[1]);
    return status;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(parent, command.c_str(), in[0], out[1], output.empty());
  const Status status = pid < 0 ? Failure("a process cannot be started") : Status();
  close(in[0]);
  close(out[1]);
  pid_ = pid;
  input_ = in[1];
  output_ = out[0];
  fcntl(input_, F_SETFL, O_NONBLOCK);
  if (!status.ok()) End();
  return status;
}

/// A pipe whose reader is gone raises SIGPIPE, which threads of a Loop block.
Result<std::size_t> HookProcess::WriteSome(std::string_view bytes, int timeout_ms) {
  pollfd wait{input_, POLLOUT, 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return std::size_t{0};
  const ssize_t written = write(input_, bytes.data(), bytes.size());
  if (written >= 0) return static_cast<std::size_t>(written);
  if (errno == EAGAIN || errno == EINTR) return std::size_t{0};
  return Unavailable("the command has closed its standard input");
}

void HookProcess::CloseInput() { Close(&input_); }

bool HookProcess::ReadSome(std::string* text, int timeout_ms) {
  pollfd wait{output_, POLLIN, 0};
  if (poll(&wait, 1, timeout_ms) <= 0) return true;
  char bytes[512];
  const ssize_t got = read(output_, bytes, sizeof bytes);
  if (got < 0) return errno == EINTR;
  text->append(bytes, static_cast<std::size_t>(got));
  return got > 0;
}

std::optional<std::string> HookProcess::CollectEnd() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) == 0) return std::nullopt;
  kill(-pid_, SIGTERM);  // what it has left of its own
  pid_ = -1;
  Close(&input_);
  Close(&output_);
  if (WIFSIGNALED(status)) return "was ended by signal " + std::to_string(WTERMSIG(status));
  return "ended with exit code " + std::to_string(WEXITSTATUS(status));
}

void HookProcess::End() {
  Close(&input_);
  if (pid_ > 0) {
    kill(-pid_, SIGTERM);
    for (int i = 0; i < kEndPolls && !CollectEnd(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  Close(&output_);
}

}  // namespace murmurate
