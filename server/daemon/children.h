// Children: the actor processes that `train` starts: copies of this executable, each a ChildProcess,
// which does not get Ctrl+C: we say goodbye to them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/process/child_process.h"

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
  std::vector<std::unique_ptr<ChildProcess>> alive_;
};

}  // namespace murmurate
