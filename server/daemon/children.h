// Children: the actor processes that `train` starts: copies of this executable, each in a process
// group of its own (Ctrl+C reaches only us, and we say goodbye to them), each ended by the kernel
// when we die.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

class Children {
 public:
  Children() = default;
  ~Children();  ///< ends what is left: SIGTERM, and SIGKILL after 0.5 s
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  /// Starts this executable with `arguments`. Call from the main thread (the kernel's promise to
  /// end the child is bound to the thread), best before there are others.
  Status Start(const std::vector<std::string>& arguments);

  /// Takes note of children that ended since the last call, one sentence each; never waits.
  std::vector<std::string> CollectEnded();
  int alive() const { return static_cast<int>(alive_.size()); }
  void Send(int signal_number) const;

 private:
  std::vector<pid_t> alive_;
};

}  // namespace murmurate
