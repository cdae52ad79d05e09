#include "tests/device/thread_runner.h"

#include <algorithm>
#include <atomic>

#include "tests/device/shared_arrays.h"

namespace murmurate {
namespace {

/// Where the 32 threads of a warp exchange values. A shuffle is no barrier for memory.
class WarpMeeting {
 public:
  std::uint64_t Exchange(unsigned lane, std::uint64_t value, unsigned distance) {
    const std::uint32_t meeting = gate_.number();
    auto& values = values_[meeting % 2];
    values[lane].store(value, std::memory_order_relaxed);
    Gate::Order();
    if (came_.fetch_add(1, std::memory_order_relaxed) == kWarp - 1) {
      came_.store(0, std::memory_order_relaxed);
      gate_.Open(meeting + 1);
    }
    gate_.Pass(meeting);
    const unsigned from = lane + distance;
    return values[from < kWarp ? from : lane].load(std::memory_order_relaxed);
  }

 private:
  Gate gate_;
  std::atomic<std::uint32_t> came_ = 0;
  std::atomic<std::uint64_t> values_[2][kWarp];
};

}  // namespace

class ThreadRunner::Block : public KernelBlock {
 public:
  Block(const HostKernel& kernel, unsigned threads, const std::vector<SharedPlace>& shared)
      : kernel_(kernel), threads_(threads), warps_(threads / kWarp) {
    made_before_.BeginBlock(kernel);
    for (const SharedPlace& place : shared) made_before_.Find(place);
    made_now_.BeginBlock(kernel);
  }

  void Sync() override {
    std::unique_lock<std::mutex> lock(mutex_);
    const std::uint64_t barrier = barriers_;
    const unsigned waiting = waiting_.fetch_add(1, std::memory_order_relaxed) + 1;
    Check(ended_.load(std::memory_order_relaxed) == 0);
    if (waiting == threads_) {
      waiting_.store(0, std::memory_order_relaxed);
      ++barriers_;
      all_wait_.notify_all();
    }
    all_wait_.wait(lock, [&] { return barriers_ != barrier; });
  }

  std::uint64_t Shuffle(std::uint64_t value, unsigned distance) override {
    if (threads_ % kWarp != 0) KernelFails(kernel_, "a shuffle needs whole warps of 32 threads");
    const unsigned thread = running_thread.place->thread;
    return warps_[thread / kWarp].Exchange(thread % kWarp, value, distance);
  }

  void* Shared(int line, const char* file, std::size_t bytes) override {
    if (void* const made = made_before_.FindMade({line, file, bytes})) return made;
    const std::lock_guard<std::mutex> lock(mutex_);
    return made_now_.Find({line, file, bytes});
  }

  /// One of its threads has ended. Takes no lock: it would order that thread before others.
  void End() {
    ended_.fetch_add(1, std::memory_order_relaxed);
    Check(waiting_.load(std::memory_order_relaxed) == 0);
  }

  /// When all have ended.
  std::vector<SharedPlace> new_places() const { return made_now_.places(); }

 private:
  void Check(bool all_come) const {
    if (!all_come)
      KernelFails(kernel_,
                  "threads wait at a barrier that others have not come to before they ended");
  }

  const HostKernel& kernel_;
  const unsigned threads_;
  std::vector<WarpMeeting> warps_;
  std::mutex mutex_;
  std::condition_variable all_wait_;
  std::uint64_t barriers_ = 0;
  std::atomic<unsigned> waiting_ = 0, ended_ = 0;
  SharedArrays made_before_, made_now_;
};

ThreadRunner::ThreadRunner() = default;

ThreadRunner::~ThreadRunner() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    job_begins_.notify_all();
  }
  for (std::thread& worker : workers_) worker.join();
}

void ThreadRunner::Run(const HostKernel& kernel, const Grid& grid, const void* call) {
  CheckGrid(kernel, grid);
  kernel_ = &kernel;
  call_ = call;
  grid_ = grid;
  constexpr std::size_t kMostThreads = 512;
  const std::size_t all = static_cast<std::size_t>(grid.blocks) * grid.rows;
  const std::size_t at_once = std::max<std::size_t>(1, kMostThreads / grid.threads);
  for (std::size_t first = 0; first < all; first += at_once)
    RunBlocks(first, std::min(at_once, all - first));
}

void ThreadRunner::RunBlocks(std::size_t first, std::size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  first_ = first;
  std::vector<SharedPlace>& shared = shared_[kernel_->name];
  blocks_.clear();
  for (std::size_t block = 0; block < count; ++block)
    blocks_.push_back(std::make_unique<Block>(*kernel_, grid_.threads, shared));
  wanted_ = static_cast<unsigned>(count * grid_.threads);
  came_ = ended_ = 0;
  while (workers_.size() < wanted_) {
    const auto worker = static_cast<unsigned>(workers_.size());
    workers_.emplace_back([this, worker, job = job_] { Work(worker, job); });
  }
  ++job_;
  job_begins_.notify_all();
  all_ended_.wait(lock, [&] { return ended_ == wanted_; });
  for (const SharedPlace& place : blocks_.front()->new_places()) {
    // Memory of a block has another size in another grid.
    std::erase_if(shared, [&](const SharedPlace& known) {
      return known.line == place.line && known.file == place.file;
    });
    shared.push_back(place);
  }
}

std::uint32_t ThreadRunner::AwaitJob(unsigned worker, std::uint32_t job) {
  std::uint32_t before = 0;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    job_begins_.wait(lock, [&] { return closing_ || (job_ != job && worker < wanted_); });
    if (closing_) return 0;
    job = job_;
    before = gate_.number();
    if (++came_ == wanted_) gate_.Open(job);
  }
  gate_.Pass(before);
  return job;
}

void ThreadRunner::Work(unsigned worker, std::uint32_t job) {
  while ((job = AwaitJob(worker, job)) != 0) {
    RunThread(worker);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (++ended_ == wanted_) all_ended_.notify_one();
  }
}

void ThreadRunner::RunThread(unsigned worker) {
  Block& block = *blocks_[worker / grid_.threads];
  const auto index = static_cast<unsigned>(first_ + worker / grid_.threads);
  const HostKernelPlace place = {worker % grid_.threads, grid_.threads,        index % grid_.blocks,
                                 grid_.blocks,           index / grid_.blocks, grid_.block_bytes};
  running_thread = {&place, &block};
  kernel_->run(call_);
  running_thread = {};
  block.End();
}

}  // namespace murmurate
