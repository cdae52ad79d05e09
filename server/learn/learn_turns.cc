#include "server/learn/learn_turns.h"

#include <optional>
#include <utility>

namespace murmurate {

std::unique_ptr<TrainingBatch> LearnTurns::Next(ExperienceChannel& channel,
                                                std::chrono::milliseconds timeout) {
  if (!channel.ready.Wait(timeout)) return nullptr;
  std::unique_lock lock(mutex_);
  // guard: LearnTurnsTest.AHeldOutBatchIsScoredAfterAllBeforeItAndBeforeAllAfterIt: no thread takes
  //   a batch while another is alone or wants to be
  changed_.wait(lock, [this] { return wanting_ == 0 && !alone_; });
  auto batch = ended_ || paused() ? std::nullopt : channel.ready.TryPop();
  if (!batch) return nullptr;
  if ((*batch)->samples == TrainingBatch::Samples::kHeldOut) {
    BeginAlone(lock);
  } else {
    ++learning_;
  }
  return *std::move(batch);
}

bool LearnTurns::Begin() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return wanting_ == 0 && !alone_; });
  if (ended_ || paused()) return false;
  ++learning_;
  return true;
}

void LearnTurns::Done(bool held_out) {
  {
    const std::lock_guard lock(mutex_);
    if (held_out) {
      alone_ = false;
    } else {
      --learning_;
    }
  }
  changed_.notify_all();
}

void LearnTurns::Alone(bool held_out, const std::function<void()>& visit) {
  if (held_out) return visit();  // it is
  {
    std::unique_lock lock(mutex_);
    --learning_;
    changed_.notify_all();
    BeginAlone(lock);
  }
  visit();
  {
    const std::lock_guard lock(mutex_);
    alone_ = false;
    ++learning_;
  }
  changed_.notify_all();
}

void LearnTurns::End(ExperienceChannel& channel) {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  while (auto batch = channel.ready.TryPop()) left_.push_back(*std::move(batch));
}

void LearnTurns::VisitNext(ExperienceChannel& channel,
                           const std::function<void(const TrainingBatch&)>& visit) const {
  if (channel.learners > 1) return;
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  channel.ready.VisitFront([&](const std::unique_ptr<TrainingBatch>& next) { visit(*next); });
}

void LearnTurns::AtRest(const std::function<void()>& visit) {
  {
    std::unique_lock lock(mutex_);
    BeginAlone(lock);
  }
  visit();
  {
    const std::lock_guard lock(mutex_);
    alone_ = false;
  }
  changed_.notify_all();
}

int LearnTurns::wanting() const {
  const std::lock_guard lock(mutex_);
  return wanting_;
}

void LearnTurns::BeginAlone(std::unique_lock<std::mutex>& lock) {
  ++wanting_;
  // guard: LearnTurnsTest.AHeldOutBatchIsScoredAfterAllBeforeItAndBeforeAllAfterIt: a thread that
  //   wants to be alone waits for the batches under way and for one that is alone
  changed_.wait(lock, [this] { return learning_ == 0 && !alone_; });
  --wanting_;
  alone_ = true;
}

}  // namespace murmurate
