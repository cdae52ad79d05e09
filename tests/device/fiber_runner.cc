#include "tests/device/fiber_runner.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace murmurate {

FiberRunner::FiberRunner(std::uint64_t seed) : seed_(seed), random_(seed) {}

void FiberRunner::Run(const HostKernel& kernel, const Grid& grid, const void* call) {
  CheckGrid(kernel, grid);
  kernel_ = &kernel;
  call_ = call;
  std::vector<unsigned> blocks(static_cast<std::size_t>(grid.blocks) * grid.rows);
  std::iota(blocks.begin(), blocks.end(), 0u);
  Arrange(&blocks);
  const RunningThread outer = running_thread;
  running_thread.block = this;
  for (const unsigned block : blocks) RunBlock(grid, block % grid.blocks, block / grid.blocks);
  running_thread = outer;
}

void FiberRunner::RunBlock(const Grid& grid, unsigned block, unsigned row) {
  shared_.BeginBlock(*kernel_);
  threads_.resize(grid.threads);
  order_.resize(grid.threads);
  std::iota(order_.begin(), order_.end(), 0u);
  for (const unsigned thread : order_) {
    threads_[thread].place = {thread, grid.threads, block, grid.blocks, row, grid.block_bytes};
    threads_[thread].state = State::kNew;
  }
  do {
    RunReady();
  } while (Release());
}

void FiberRunner::RunReady() {
  Arrange(&order_);
  for (next_ = 0; next_ < order_.size();) {
    KernelThread& thread = threads_[order_[next_]];
    if (thread.state == State::kNew) {
      IdleFiber()->Resume();
      continue;
    }
    ++next_;
    current_ = &thread;
    running_thread.place = &thread.place;
    thread.fiber->Resume();
  }
}

void FiberRunner::RunNewThreads(Fiber* fiber) {
  while (next_ < order_.size() && threads_[order_[next_]].state == State::kNew) {
    KernelThread& thread = threads_[order_[next_++]];
    thread.fiber = fiber;
    current_ = &thread;
    running_thread.place = &thread.place;
    kernel_->run(call_);
    thread.state = State::kEnded;
  }
}

Fiber* FiberRunner::IdleFiber() {
  if (idle_.empty()) {
    const std::size_t index = fibers_.size();
    fibers_.push_back(std::make_unique<Fiber>([this, index] {
      Fiber* const fiber = fibers_[index].get();
      for (;;) {
        RunNewThreads(fiber);
        idle_.push_back(fiber);
        fiber->Yield();
      }
    }));
    return fibers_.back().get();
  }
  Fiber* const fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void FiberRunner::Arrange(std::vector<unsigned>* order) {
  if (seed_ == 1) std::reverse(order->begin(), order->end());
  if (seed_ > 1) std::shuffle(order->begin(), order->end(), random_);
}

bool FiberRunner::Release() {
  order_.clear();
  if (ReleaseWarps()) return true;
  const unsigned ended = Count(State::kEnded), waiting = Count(State::kInSync);
  if (ended == threads_.size()) return false;
  if (waiting < threads_.size()) {
    KernelFails(*kernel_, ended > 0
                              ? "threads wait at a barrier that others have not come to before "
                                "they ended"
                              : "threads of one block wait at different kinds of barriers");
  }
  for (unsigned thread = 0; thread < threads_.size(); ++thread) {
    threads_[thread].state = State::kReady;
    order_.push_back(thread);
  }
  return true;
}

bool FiberRunner::ReleaseWarps() {
  for (unsigned first = 0; first + kWarp <= threads_.size(); first += kWarp) {
    KernelThread* const warp = &threads_[first];
    if (!std::all_of(warp, warp + kWarp,
                     [](const KernelThread& thread) { return thread.state == State::kInShuffle; }))
      continue;
    std::array<std::uint64_t, kWarp> values;
    for (unsigned lane = 0; lane < kWarp; ++lane) values[lane] = warp[lane].value;
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      const unsigned from = lane + warp[lane].distance;
      warp[lane].value = values[from < kWarp ? from : lane];
      warp[lane].state = State::kReady;
      order_.push_back(first + lane);
    }
  }
  return !order_.empty();
}

unsigned FiberRunner::Count(State state) const {
  return static_cast<unsigned>(
      std::count_if(threads_.begin(), threads_.end(),
                    [state](const KernelThread& thread) { return thread.state == state; }));
}

void FiberRunner::Sync() {
  KernelThread& thread = *current_;
  thread.state = State::kInSync;
  thread.fiber->Yield();
}

std::uint64_t FiberRunner::Shuffle(std::uint64_t value, unsigned distance) {
  KernelThread& thread = *current_;
  if (thread.place.threads % kWarp != 0)
    KernelFails(*kernel_, "a shuffle needs whole warps of 32 threads");
  thread.value = value;
  thread.distance = distance;
  thread.state = State::kInShuffle;
  thread.fiber->Yield();
  return thread.value;
}

void* FiberRunner::Shared(int line, const char* file, std::size_t bytes) {
  return shared_.Find({line, file, bytes});
}

}  // namespace murmurate
