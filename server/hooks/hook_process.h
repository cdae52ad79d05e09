// HookProcess: a command that a hook runs: `/bin/sh -c COMMAND`, a ChildProcess with a pipe to its
// standard input, which is never waited on, and its output in a file or a pipe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "server/process/child_process.h"

namespace murmurate {

/// One thread.
class HookProcess {
 public:
  HookProcess() = default;
  ~HookProcess();  ///< ends it: SIGTERM to its group, SIGKILL after 0.2 s
  HookProcess(const HookProcess&) = delete;
  HookProcess& operator=(const HookProcess&) = delete;

  /// Starts it; none must run. `output`: the file that both outputs are appended to; "": standard
  /// output is read by ReadSome, and errors go where ours do.
  Status Start(const std::string& command, const std::string& output);
  bool started() const { return process_.running(); }

  /// Writes what there is room for, waiting for it for at most `timeout_ms`; the count. kUnavailable:
  /// it has closed its standard input.
  Result<std::size_t> WriteSome(std::string_view bytes, int timeout_ms);
  void CloseInput();
  /// Reads what it has said, waiting for at most `timeout_ms`. False: it says nothing more.
  bool ReadSome(std::string* text, int timeout_ms);
  /// "ended with exit code 1", once, when it has ended; never waits. Empty while it runs.
  std::optional<std::string> CollectEnd();
  void End();

 private:
  ChildProcess process_;
  int input_ = -1, output_ = -1;
};

}  // namespace murmurate
