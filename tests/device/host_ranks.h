// HostRanks: the RankSums of host devices, each of which a thread of this process has: the work waits
// on its stream until every rank has come to the sum, which is taken in the order of the ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/compute/device/rank_sums.h"
#include "tests/device/host_device.h"

namespace murmurate {

class HostRanks : public RankSums {
 public:
  /// Gives `device` sums over `size` ranks; of one job all are given the same meeting.
  struct Meeting;
  static std::shared_ptr<Meeting> Meet(int size);
  static void GiveTo(HostDevice* device, int rank, std::shared_ptr<Meeting> meeting);
  HostRanks(HostDevice* device, int rank, std::shared_ptr<Meeting> meeting);

  /// Why this rank cannot, from then on.
  void Refuse(std::string why) { why_not_ = std::move(why); }
  /// Sums so far.
  static std::uint64_t Sums(Meeting& meeting);

  Status Prepare() override { return why_not_.empty() ? Status() : ResourceError(why_not_); }
  Result<RankId> MakeId() override { return RankId{std::byte{7}}; }
  Status Join(const RankId& id, int rank, int size, Waiting waiting) override;
  void Sum(Stream stream, float* data, std::size_t count) override;
  Status Health() override { return {}; }
  void Abort(const std::string& why) override;

 private:
  bool Come(const float* data, std::size_t count);
  void Leave(float* data);

  HostDevice* const device_;
  const std::size_t rank_;
  const std::shared_ptr<Meeting> meeting_;
  std::string why_not_;
  bool joined_ = false;
  std::uint64_t come_ = 0, left_ = 0;  ///< sums that this rank has come to, and left
};

}  // namespace murmurate
