#include "shared/wire/session_totals.h"

#include <algorithm>

namespace murmurate::wire {

void SessionTotals::BeginSession(const HelloOk& ok, bool succeeds) {
  if (succeeds && ok.resumed && sequence_ > ok.kept_sequence) {
    lost_ += sequence_ - ok.kept_sequence;
  }
  sequence_ = std::max(sequence_, ok.sequence);  // more may have left since that HELLO
  acknowledged_ = ok.sequence;
  bytes_ = 0;
  committed_.clear();
}

void SessionTotals::OnHelloOk(const HelloOk& ok) {
  bytes_ = std::max(bytes_, ok.bytes_total);
  credit_.clear();
  for (const HelloOkModel& m : ok.models) {
    credit_.push_back({m.steps_total, m.at_version, m.version});
  }
}

SessionTotals::Raised SessionTotals::OnCredit(const std::vector<ModelCredit>& models,
                                              std::uint64_t bytes_total) {
  Raised raised{bytes_total > bytes_, false};
  bytes_ = std::max(bytes_, bytes_total);
  for (std::size_t i = 0; i < std::min(models.size(), credit_.size()); ++i) {
    ModelCredit& mine = credit_[i];
    raised.version |= models[i].version > mine.version;
    mine.version = std::max(mine.version, models[i].version);
    if (models[i].steps_total < mine.steps_total) continue;  // said before what is known by now
    raised.credit |=
        models[i].steps_total > mine.steps_total || models[i].at_version > mine.at_version;
    mine.steps_total = models[i].steps_total;
    mine.at_version = std::max(mine.at_version, models[i].at_version);
  }
  return raised;
}

void SessionTotals::OnAccepted(std::uint64_t sequence) {
  acknowledged_ = std::max(acknowledged_, sequence);
}

bool SessionTotals::OnCommitted(const Committed& committed) {
  if (committed.model >= credit_.size()) return false;
  if (committed_.size() <= committed.model) committed_.resize(committed.model + 1);
  committed_[committed.model] = committed;
  return true;
}

void SessionTotals::OnRefused(const Error& error) {
  refused_ += error.sequence != 0;
  last_refusal_ = error.sentence;
}

}  // namespace murmurate::wire
