#include "shared/core/thread_team.h"

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Waits until `word` is not `old`. It polls for some 10 us at most: a futex's wake takes as
/// long, and a step of 1024 rows of 4-64-64-2 on two threads is 1.36 times as fast as on one with
/// it, 1.2 times with a quarter of it.
int AwaitChange(const std::atomic<int>& word, int old) {
  constexpr int kLooks = 20'000;
  for (int look = 0; look < kLooks; ++look) {
    const int now = word.load(std::memory_order_acquire);
    if (now != old) return now;
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(const std::string& name, int size) : ThreadTeam() {
  MURMURATE_CHECK(size >= 1, "a team has its caller at least");
  for (int share = 1; share < size; ++share) {
    loops_.push_back(
        std::make_unique<Loop>(name + '.' + std::to_string(share + 1),
                               [this, share, round = 0]() mutable { Work(share, &round); }));
  }
}

ThreadTeam::~ThreadTeam() {
  over_.store(true, std::memory_order_relaxed);
  for (const auto& loop : loops_) loop->RequestStop();
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
}

void ThreadTeam::Run(Call call, const void* task) {
  if (!loops_.empty()) {
    call_ = call;
    task_ = task;
    working_.store(static_cast<int>(loops_.size()), std::memory_order_relaxed);
    // guard: ThreadTeam.EveryShareIsDoneOnceAndAtTheSameTime (tsan): a round is counted after its
    //   task is written, and read before it is called
    round_.fetch_add(1, std::memory_order_release);
    // guard: ThreadTeam.EveryShareIsDoneOnceAndAtTheSameTime, ThreadTeam.OneThatNeverRanEnds
    //   (hangs): sleeping threads are woken for a round, at its end and when the team ends
    round_.notify_all();
  }
  call(task, 0);
  // guard: ThreadTeam.EveryShareIsDoneOnceAndAtTheSameTime: Run waits for the last share
  for (int left = working_.load(std::memory_order_acquire); left > 0;)
    left = AwaitChange(working_, left);
}

void ThreadTeam::Work(int share, int* round) {
  *round = AwaitChange(round_, *round);
  if (over_.load(std::memory_order_relaxed)) return;
  call_(task_, share);
  // guard: ThreadTeam.EveryShareIsDoneOnceAndAtTheSameTime (tsan): what the shares wrote is visible
  //   when Run returns
  if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) working_.notify_one();
}

}  // namespace murmurate
