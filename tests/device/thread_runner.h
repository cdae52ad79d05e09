// ThreadRunner: runs each thread of a kernel on a thread of this processor, many blocks at once, so
// that ThreadSanitizer sees which memory two of them touch without a barrier between. Nothing but
// barriers orders them: shuffles, as on a GPU, do not. For small grids.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/device/gate.h"
#include "tests/device/kernel_block.h"
#include "tests/device/shared_arrays.h"

namespace murmurate {

class ThreadRunner : public KernelRunner {
 public:
  ThreadRunner();
  ~ThreadRunner() override;
  ThreadRunner(const ThreadRunner&) = delete;
  ThreadRunner& operator=(const ThreadRunner&) = delete;

  void Run(const HostKernel& kernel, const Grid& grid, const void* call) override;

 private:
  class Block;

  /// Runs blocks [first, first + count) of the grid at once.
  void RunBlocks(std::size_t first, std::size_t count);
  void Work(unsigned worker, std::uint32_t job);
  /// Waits until a job later than `job` begins, and all who have a part in it have come; 0: none
  /// will.
  std::uint32_t AwaitJob(unsigned worker, std::uint32_t job);
  void RunThread(unsigned worker);

  /// Of each kernel, by name: the shared arrays that it has had, which are made before it begins.
  std::map<std::string_view, std::vector<SharedPlace>> shared_;
  const HostKernel* kernel_ = nullptr;
  const void* call_ = nullptr;
  Grid grid_;
  std::size_t first_ = 0;  ///< block of the present job
  std::vector<std::unique_ptr<Block>> blocks_;

  std::mutex mutex_;
  std::condition_variable job_begins_, all_ended_;
  std::uint32_t job_ = 1;
  unsigned wanted_ = 0, came_ = 0, ended_ = 0;  ///< threads of the job
  Gate gate_;                                   ///< opens when all have come
  bool closing_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace murmurate
