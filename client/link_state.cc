#include "client/link_state.h"

#include <utility>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kPatienceNs = 3 * kNanosecondsPerSecond;

}  // namespace

LinkState::LinkState(std::string address, LogCallback log)
    : address_(std::move(address)), log_(std::move(log)), started_ns_(MonotonicNs()) {}

StateReport LinkState::report() const {
  std::lock_guard lock(mutex_);
  return report_;
}

LinkState::Numbers LinkState::numbers() const {
  std::lock_guard lock(mutex_);
  return numbers_;
}

void LinkState::Announce(StateReport report, std::int64_t now_ns) {
  const bool no_learner = report.state == ClientState::kNoLearner;
  const bool due = no_learner && !said_no_learner_ && now_ns - started_ns_ >= kPatienceNs;
  bool changed = false;
  {
    std::lock_guard lock(mutex_);
    changed = report.state != report_.state || report.reason != report_.reason;
    report_ = report;
  }
  if (due) said_no_learner_ = true;
  if (!log_ || (!due && (!changed || no_learner))) return;
  const bool fine =
      report.state == ClientState::kLive || report.state == ClientState::kWaitingForWeights;
  std::string text = ToString(report.state);
  if (report.state == ClientState::kRefused) text += " by the learner at " + address_;
  if (!report.reason.empty()) text = no_learner ? report.reason : text + ": " + report.reason;
  log_(fine ? LogLevel::kInfo : LogLevel::kWarning, text);
}

void LinkState::CountReconnect() {
  std::lock_guard lock(mutex_);
  ++numbers_.reconnects;
}

void LinkState::NoteSent(const BlockSender::Totals& totals) {
  std::lock_guard lock(mutex_);
  numbers_.totals = totals;
}

void LinkState::NoteRefused(const wire::SessionTotals& totals) {
  std::lock_guard lock(mutex_);
  numbers_.refused = totals.refused();
  numbers_.lost = totals.lost();
}

void LinkState::NoteCommitted(const wire::SessionTotals& totals) {
  std::lock_guard lock(mutex_);
  numbers_.trajectories_committed = numbers_.steps_committed = 0;
  for (const wire::Committed& committed : totals.committed()) {
    numbers_.trajectories_committed += committed.trajectories;
    numbers_.steps_committed += committed.steps;
  }
}

}  // namespace murmurate
