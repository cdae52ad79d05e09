// ThreadTeam: threads that do one thing together, each its own share, while their caller does the
// first share:
//
//   Run(task):   caller        task(0) |
//                mmr-train.2   task(1) | -> all done, Run returns
//                mmr-train.3   task(2) |
//
// For work that is cut the same way every time: no thread takes over another's share, so what comes
// out does not depend on which was faster. Between two calls the threads poll for the next one
// for some microseconds (it often follows at once), then sleep on a futex. They block all signals,
// as every Loop does.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "shared/core/loop.h"

namespace murmurate {

class ThreadTeam {
 public:
  /// Starts size - 1 threads, NAME.2 to NAME.size (names have at most 15 characters). Throws
  /// std::system_error when the system has too few, and leaves none behind.
  ThreadTeam(const std::string& name, int size);
  ~ThreadTeam();  ///< ends and joins them

  int size() const { return static_cast<int>(loops_.size()) + 1; }

  /// Calls task(i) once for each i of 0 .. size() - 1, all at the same time, and returns when all
  /// have returned; what they wrote may then be read. One thread at a time may call it; a task must
  /// neither throw nor call it. Allocates nothing.
  template <typename Task>
  void Run(const Task& task) {
    Run([](const void* of, int share) { (*static_cast<const Task*>(of))(share); }, &task);
  }

 private:
  ThreadTeam() = default;  ///< the caller alone; from here on the destructor ends the others
  using Call = void (*)(const void* task, int share);

  void Run(Call call, const void* task);
  void Work(int share, int* round);

  Call call_ = nullptr;
  const void* task_ = nullptr;
  std::atomic<int> round_{0};    ///< counts calls of Run; hands call_ and task_ over
  std::atomic<int> working_{0};  ///< threads that have not finished this round
  std::atomic<bool> over_{false};
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace murmurate
