// ChildProcess: a program that this process starts, in a process group of its own, so that Ctrl+C at
// a terminal reaches only this process. The kernel ends it with SIGTERM when the thread that started
// it ends. It inherits no signal mask, no ignored SIGPIPE, and nothing by which it could speak to the
// service manager of this process (NOTIFY_SOCKET, WATCHDOG_USEC, WATCHDOG_PID).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// The executable of this process.
inline constexpr char kThisExecutable[] = "/proc/self/exe";

struct ChildProgram {
  std::string path;                    ///< of the executable
  std::vector<std::string> arguments;  ///< the first is its name
  /// The descriptors that become its standard input and outputs; -1: /dev/null, of errors ours.
  int input = -1, output = -1, errors = -1;
  bool detached = false;  ///< in a session of its own, and it does not end with this process
};

/// Starts it; the number of its process. kResource: it cannot, and the message is the cause alone.
Result<pid_t> StartProgram(const ChildProgram& program);

/// One thread.
class ChildProcess {
 public:
  ChildProcess() = default;
  ~ChildProcess() { End(0); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// StartProgram; none must run.
  Status Start(const ChildProgram& program);
  bool running() const { return pid_ > 0; }  ///< or has ended, and CollectEnd has not said so
  pid_t pid() const { return pid_; }
  void Send(int signal_number) const;  ///< to it alone
  /// "ended with exit code 1", "was ended by signal 9", once, when it has ended; never waits. What is
  /// left of its group is told to end then (SIGTERM).
  std::optional<std::string> CollectEnd();
  /// Ends its group: SIGTERM, and SIGKILL after `grace_ms`.
  void End(int grace_ms);

 private:
  pid_t pid_ = -1;
};

}  // namespace murmurate
