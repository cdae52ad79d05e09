#include "tests/device/host_ranks.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "shared/core/check.h"

namespace murmurate {

/// Sum number `sums` + 1 is under way; the last one stays until each rank has its result.
struct HostRanks::Meeting {
  std::mutex mutex;
  std::vector<std::vector<float>> values;  ///< of each rank
  std::vector<float> result;
  std::uint64_t sums = 0;
  int joined = 0, come = 0;
};

std::shared_ptr<HostRanks::Meeting> HostRanks::Meet(int size) {
  auto meeting = std::make_shared<Meeting>();
  meeting->values.resize(static_cast<std::size_t>(size));
  return meeting;
}

HostRanks::HostRanks(HostDevice* device, int rank, std::shared_ptr<Meeting> meeting)
    : device_(device), rank_(static_cast<std::size_t>(rank)), meeting_(std::move(meeting)) {}

void HostRanks::GiveTo(HostDevice* device, int rank, std::shared_ptr<Meeting> meeting) {
  device->GiveRankSums(std::make_unique<HostRanks>(device, rank, std::move(meeting)));
}

std::uint64_t HostRanks::Sums(Meeting& meeting) {
  const std::lock_guard lock(meeting.mutex);
  return meeting.sums;
}

Status HostRanks::Join(const RankId& id, int rank, int size, Waiting waiting) {
  MURMURATE_CHECK(!joined_ && id[0] == std::byte{7}, "joined once, by the id of rank 0");
  MURMURATE_CHECK(static_cast<std::size_t>(rank) == rank_, "the rank that the test gave");
  joined_ = true;
  {
    const std::lock_guard lock(meeting_->mutex);
    MURMURATE_CHECK(static_cast<std::size_t>(size) == meeting_->values.size(), "all ranks");
    ++meeting_->joined;
  }
  while (true) {
    MURMURATE_RETURN_IF_ERROR(waiting());
    const std::lock_guard lock(meeting_->mutex);
    if (meeting_->joined == size) return {};
  }
}

void HostRanks::Sum(Stream stream, float* data, std::size_t count) {
  MURMURATE_CHECK(joined_, "a sum of ranks that have joined");
  device_->EnqueueWhenReady(
      stream, data, count * sizeof(float),
      {[this, data, count] { return Come(data, count); }, [this, data] { Leave(data); }});
}

/// Whether all ranks have come to this rank's sum.
bool HostRanks::Come(const float* data, std::size_t count) {
  const std::lock_guard lock(meeting_->mutex);
  Meeting& m = *meeting_;
  if (come_ == left_) {
    MURMURATE_CHECK(m.sums == come_, "every rank has left the sum before");
    ++come_;
    m.values[rank_].assign(data, data + count);
    if (++m.come == static_cast<int>(m.values.size())) {
      m.result = m.values[0];
      for (std::size_t r = 1; r < m.values.size(); ++r) {
        MURMURATE_CHECK(m.values[r].size() == count, "sums of the same lengths");
        for (std::size_t j = 0; j < count; ++j) m.result[j] += m.values[r][j];
      }
      m.come = 0;
      ++m.sums;
    }
  }
  return m.sums >= come_;
}

void HostRanks::Leave(float* data) {
  const std::lock_guard lock(meeting_->mutex);
  std::ranges::copy(meeting_->result, data);
  left_ = come_;
}

void HostRanks::Abort(const std::string& why) { device_->Fail(why); }

}  // namespace murmurate
