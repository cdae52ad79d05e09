// The reference of the Collective seam: ranks are threads of one process, and a sum is taken in the
// order of the ranks, in float32.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "server/parameters/collective.h"

namespace murmurate {

class ThreadsCollective : public Collective {
 public:
  static std::vector<std::unique_ptr<Collective>> Make(int size) {
    auto meeting = std::make_shared<Meeting>();
    meeting->values.resize(static_cast<std::size_t>(size));
    meeting->posts.resize(meeting->values.size());
    std::vector<std::unique_ptr<Collective>> ranks;
    for (int rank = 0; rank < size; ++rank)
      ranks.push_back(std::unique_ptr<Collective>(new ThreadsCollective(rank, meeting)));
    return ranks;
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_->values.size()); }
  Status BeginSum(std::span<float> values) override { return Begin(values, -1); }
  Status BeginBroadcast(std::span<float> values, int root) override { return Begin(values, root); }
  Result<bool> Done() override {
    const std::lock_guard lock(meeting_->mutex);
    if (meeting_->broken) return ResourceError("a rank is gone");
    return meeting_->round > mine_;
  }
  Status Close() override { return {}; }

  Status Post(std::uint64_t number) override {
    const std::lock_guard lock(meeting_->mutex);
    for (int to = 0; to < size(); ++to)
      if (to != rank_) meeting_->posts[static_cast<std::size_t>(to)].push_back({rank_, number});
    return {};
  }
  Result<std::optional<PostedNumber>> NextPost() override {
    const std::lock_guard lock(meeting_->mutex);
    auto& posts = meeting_->posts[static_cast<std::size_t>(rank_)];
    std::optional<PostedNumber> next;
    if (posts.empty()) return next;
    next = posts.front();
    posts.pop_front();
    return next;
  }
  std::string host(int rank) const override {
    return std::string(1, static_cast<char>('a' + rank));
  }

  /// Ranks that have begun what the others have not.
  int arrived() const {
    const std::lock_guard lock(meeting_->mutex);
    return meeting_->arrived;
  }

  /// As when a rank dies: every operation fails from now on.
  void Break() {
    const std::lock_guard lock(meeting_->mutex);
    meeting_->broken = true;
  }

 private:
  struct Meeting {
    std::mutex mutex;
    std::vector<std::span<float>> values;
    std::vector<float> result;
    std::vector<std::deque<PostedNumber>> posts;  ///< to each rank
    std::size_t count = 0;                        ///< and `root`: of the operation under way
    int arrived = 0, root = -1;
    std::uint64_t round = 0;
    bool broken = false;
  };

  ThreadsCollective(int rank, std::shared_ptr<Meeting> meeting)
      : rank_(rank), meeting_(std::move(meeting)) {}

  Status Begin(std::span<float> values, int root) {
    const std::lock_guard lock(meeting_->mutex);
    Meeting& m = *meeting_;
    if (m.arrived > 0 && (m.root != root || m.count != values.size()))
      return ResourceError("the ranks began different operations");
    m.values[static_cast<std::size_t>(rank_)] = values;
    m.root = root;
    m.count = values.size();
    mine_ = m.round;
    if (++m.arrived < size()) return {};
    if (root >= 0) {
      m.result.assign(m.values[static_cast<std::size_t>(root)].begin(),
                      m.values[static_cast<std::size_t>(root)].end());
    } else {
      m.result.assign(m.values[0].begin(), m.values[0].end());
      for (std::size_t r = 1; r < m.values.size(); ++r)
        for (std::size_t j = 0; j < values.size(); ++j) m.result[j] += m.values[r][j];
    }
    for (const std::span<float> each : m.values)
      std::copy(m.result.begin(), m.result.end(), each.begin());
    m.arrived = 0;
    ++m.round;
    return {};
  }

  const int rank_;
  const std::shared_ptr<Meeting> meeting_;
  std::uint64_t mine_ = 0;
};

}  // namespace murmurate
