#include "server/hooks/hook_process.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace murmurate {
namespace {

constexpr int kGraceMs = 200;

void Close(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

Status Failure(const std::string& what, const std::string& cause = std::strerror(errno)) {
  return ResourceError(what + " (" + cause +
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
  const Status started = process_.Start({.path = "/bin/sh",
                                         .arguments = {"sh", "-c", command},
                                         .input = in[0],
                                         .output = out[1],
                                         .errors = output.empty() ? -1 : out[1]});
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
  fcntl(input_, F_SETFL, O_NONBLOCK);
  if (started.ok()) return started;
  End();
  return Failure("a process cannot be started", started.message());
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
  auto how = process_.CollectEnd();
  if (!how) return how;
  Close(&input_);
  Close(&output_);
  return how;
}

void HookProcess::End() {
  Close(&input_);
  process_.End(kGraceMs);
  Close(&output_);
}

}  // namespace murmurate
