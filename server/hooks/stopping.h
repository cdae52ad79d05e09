// Stopping: how a hook ends the run: once, with a sentence that says why.
#pragma once

#include <string>
#include <utility>

#include "server/hooks/hook.h"

namespace murmurate {

/// One thread.
class Stopping {
 public:
  explicit Stopping(HookTools tools) : tools_(std::move(tools)) {}

  void Stop(const std::string& why, LogLevel level = LogLevel::kInfo) {
    if (!done_.empty()) return;
    done_ = "ended the run: " + why;
    tools_.log(level, "hook " + tools_.name + " ends the run: " + why);
    tools_.actions.stop("hook " + tools_.name + ": " + why);
  }
  const std::string& done() const { return done_; }
  const HookTools& tools() const { return tools_; }

 private:
  const HookTools tools_;
  std::string done_;
};

}  // namespace murmurate
