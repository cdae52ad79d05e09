#include "server/hooks/hook_runner.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kAfterInterruptNs = kNanosecondsPerSecond / 2;
constexpr int kLongestWaitMs = 10'000;

}  // namespace

HookRunner::HookRunner(ConfiguredHook hook, LogCallback log)
    : settings_(std::move(hook.settings)),
      hook_(std::move(hook.hook)),
      log_(std::move(log)),
      wants_(hook_->wants() | Bit(HookMoment::kEnd)) {}

HookRunner::~HookRunner() {
  hook_->Interrupt();
  loop_.reset();
}

void HookRunner::Start(std::size_t number) {
  loop_ = std::make_unique<Loop>(
      "mmr-hook." + std::to_string(number), [this] { PollOnce(kLongestWaitMs); },
      [this] {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
      });
}

void HookRunner::Post(Event event) {
  const std::lock_guard lock(mutex_);
  if (!done_.empty() || ending_) return;
  if (queue_.size() >= static_cast<std::size_t>(settings_.queue)) return void(++dropped_);
  queue_.push_back(std::move(event));
  changed_.notify_all();
}

/// Waits for an event, the end, or the time of OnTime. Null: there is none.
HookRunner::Event HookRunner::Take(int timeout_ms) {
  const std::int64_t due_ns = DueNs();
  std::int64_t wait_ns = timeout_ms * kNanosecondsPerMillisecond;
  if (due_ns != Hook::kNever)
    wait_ns = std::clamp<std::int64_t>(due_ns - MonotonicNs(), 0, wait_ns);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(wait_ns),
                    [this] { return stopping_ || !queue_.empty() || (ending_ && !finished_); });
  if (queue_.empty()) return nullptr;
  Event event = std::move(queue_.front());
  queue_.pop_front();
  return event;
}

/// A hook that is done, or has had its end, is not called by time.
std::int64_t HookRunner::DueNs() const {
  const std::lock_guard lock(mutex_);
  return done_.empty() && !finished_ ? hook_->due_ns() : Hook::kNever;
}

bool HookRunner::Finishing() const {
  const std::lock_guard lock(mutex_);
  return ending_ && !finished_;
}

void HookRunner::PollOnce(int timeout_ms) {
  if (!started_) StartHook();
  const Event event = Take(timeout_ms);
  bool alive = true;
  {
    const std::lock_guard lock(mutex_);
    alive = done_.empty();
    if (event && ending_ && MonotonicNs() >= deadline_ns_) {  // no time is left for what waits
      dropped_ += 1 + queue_.size();
      queue_.clear();
      alive = false;
    }
  }
  if (event && alive) Give(*event);
  if (alive && DueNs() <= MonotonicNs()) Call([this] { return hook_->OnTime(MonotonicNs()); });
  if (!event && Finishing()) GiveEnd();
}

void HookRunner::Give(const HookEvent& event) {
  std::uint64_t dropped = 0;
  {
    const std::lock_guard lock(mutex_);
    dropped = dropped_;
  }
  if (dropped != told_dropped_) hook_->OnDropped(dropped);
  told_dropped_ = dropped;
  Call([&] { return hook_->OnEvent(event); });
}

void HookRunner::GiveEnd() {
  Event end;
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    end = end_;
    tell = end_ && done_.empty() && MonotonicNs() < deadline_ns_;
  }
  if (tell) Give(*end);
  hook_->Close();
  const std::lock_guard lock(mutex_);
  finished_ = true;
  changed_.notify_all();
}

void HookRunner::StartHook() {
  started_ = true;
  Status status;
  Call([&] { return status = hook_->Start(MonotonicNs()); });
  if (status.ok()) return;
  const std::lock_guard lock(mutex_);
  done_ = "disabled: " + status.message();
  queue_.clear();
}

void HookRunner::Call(const std::function<Status()>& call) {
  {
    const std::lock_guard lock(mutex_);
    tally_.Begin(MonotonicNs());
  }
  const Status status = call();
  bool says = false;
  {
    const std::lock_guard lock(mutex_);
    const std::int64_t now_ns = MonotonicNs();
    tally_.End(now_ns);
    says = !status.ok() && tally_.Failed(status.message(), now_ns);
  }
  if (says) log_(LogLevel::kWarning, "hook " + settings_.name + ": " + status.message());
  NoteDone();
}

void HookRunner::NoteDone() {
  const std::string done = hook_->done();
  const std::lock_guard lock(mutex_);
  if (done.empty() || !done_.empty()) return;
  done_ = done;
  queue_.clear();
}

std::string HookRunner::State(std::int64_t now_ns) const {
  if (!done_.empty()) return done_;
  if (hook_->holds()) return "holds learning up";
  if (const double seconds = tally_.InsideFor(now_ns); seconds >= 1)
    return "inside a call for " + ShortDuration(seconds);
  return "runs";
}

Reading HookRunner::Report() const {
  Reading reading("hook", settings_.name);
  const std::lock_guard lock(mutex_);
  reading.Set(kHookKind, settings_.kind);
  reading.Set(kHookState, State(MonotonicNs()));
  tally_.AddTo(&reading);
  reading.Set(kHookDropped, dropped_);
  reading.Set(kHookWaiting, queue_.size());
  return reading;
}

void HookRunner::AskToFinish(Event end, std::int64_t now_ns) {
  const double wait_s = settings_.end_s > 0 ? settings_.end_s : hook_->usual_end_s();
  const std::lock_guard lock(mutex_);
  deadline_ns_ = now_ns + static_cast<std::int64_t>(wait_s * 1e9);
  end_ = std::move(end);
  ending_ = true;
  changed_.notify_all();
}

bool HookRunner::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

bool HookRunner::AwaitFinish() {
  const auto wait = [this](std::int64_t until_ns) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(
        lock, std::chrono::nanoseconds(std::max<std::int64_t>(0, until_ns - MonotonicNs())),
        [this] { return finished_; });
  };
  if (wait(deadline_ns_)) return true;
  log_(LogLevel::kWarning, "hook " + settings_.name +
                               ": it takes too long at the end of the run, so it is not waited "
                               "for; raise its end_s if it needs more time");
  hook_->Interrupt();
  return wait(MonotonicNs() + kAfterInterruptNs);
}

}  // namespace murmurate
