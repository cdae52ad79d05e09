#include "server/parameters/rank_watch.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kLookNs = 10'000'000;
/// Between two looks: this process was stopped, as a batch system may do with all ranks.
constexpr std::int64_t kStoppedNs = 2'000'000'000;

std::string TextOf(const RankMeeting& meeting) {
  const std::string batch = "batch " + std::to_string(meeting.batch);
  if (meeting.step == 0) return batch;
  if (meeting.step == RankMeeting::kEnd) return "the end of " + batch;
  return "step " + std::to_string(meeting.step) + " of " + batch;
}

std::string Seconds(std::int64_t ns) {
  return ns < 1'000'000'000 ? std::to_string(ns / 1'000'000) + " ms"
                            : std::to_string(ns / 1'000'000'000) + " s";
}

}  // namespace

RankWatch::RankWatch(Collective* collective, std::function<std::int64_t()> now_ns)
    : collective_(collective),
      now_ns_(now_ns ? std::move(now_ns) : [] { return MonotonicNs(); }),
      heard_(static_cast<std::size_t>(collective->size())),
      all_ns_(now_ns_()) {}

void RankWatch::Begin(const RankMeeting& meeting) {
  meeting_ = meeting;
  ++wait_;
  begun_ns_ = looked_ns_ = said_ns_ = now_ns_();
  told_ns_ = 0;
  asked_ = false;
}

void RankWatch::End() { all_ns_ = now_ns_(); }

void RankWatch::LeaveOut(std::int64_t ns) {
  for (std::int64_t* time : {&begun_ns_, &said_ns_, &all_ns_}) *time += ns;
  for (Heard& heard : heard_) heard.at_ns += ns;
}

Status RankWatch::Listen(std::int64_t now_ns) {
  while (true) {
    const auto post = collective_->NextPost();
    if (!post.ok()) return post.status();
    if (!*post) return {};
    Heard& heard = heard_[static_cast<std::size_t>((*post)->rank)];
    heard = {std::max(heard.wait, (*post)->number), now_ns};
    asked_ |= (*post)->number >= wait_;
  }
}

/// A rank that comes late answers at once, so that it is not taken for missing.
Status RankWatch::Tell(std::int64_t now_ns) {
  const bool due = told_ns_ == 0 ? asked_ || now_ns - begun_ns_ >= settings_.patience_ns / 2
                                 : now_ns - told_ns_ >= settings_.patience_ns / 4;
  if (!due) return {};
  told_ns_ = now_ns;
  return collective_->Post(wait_);
}

std::string RankWatch::Sentence(int rank, std::int64_t now_ns) const {
  const std::int64_t heard_ns = std::max(all_ns_, heard_[static_cast<std::size_t>(rank)].at_ns);
  const std::string host = collective_->host(rank);
  return "rank " + std::to_string(rank) + (host.empty() ? "" : " on host " + host) +
         " has not joined " + TextOf(meeting_) + "; last heard " + Seconds(now_ns - heard_ns) +
         " ago";
}

std::vector<std::string> RankWatch::Missing(std::int64_t now_ns) const {
  std::vector<std::string> missing;
  for (int rank = 0; rank < collective_->size(); ++rank)
    if (rank != collective_->rank() && heard_[static_cast<std::size_t>(rank)].wait < wait_)
      missing.push_back(Sentence(rank, now_ns));
  if (missing.empty())
    missing.push_back("all ranks have joined " + TextOf(meeting_) + ", and it has not ended for " +
                      Seconds(now_ns - begun_ns_));
  return missing;
}

Status RankWatch::Poll() {
  const std::int64_t now_ns = now_ns_();
  if (now_ns - looked_ns_ < std::min(kLookNs, settings_.patience_ns / 16)) return {};
  if (now_ns - looked_ns_ > kStoppedNs) LeaveOut(now_ns - looked_ns_);
  looked_ns_ = now_ns;
  MURMURATE_RETURN_IF_ERROR(Listen(now_ns));
  MURMURATE_RETURN_IF_ERROR(Tell(now_ns));
  if (settings_.limit_ns > 0 && now_ns - begun_ns_ >= settings_.limit_ns)
    return ResourceError("the ranks cannot go on together (" + Missing(now_ns).front() +
                         "); start the job again, with `murmurate resume`");
  if (now_ns - said_ns_ < settings_.patience_ns) return {};
  said_ns_ = now_ns;
  if (say_)
    for (const std::string& sentence : Missing(now_ns)) say_(sentence);
  return {};
}

}  // namespace murmurate
