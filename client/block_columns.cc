#include "client/block_columns.h"

namespace murmurate {

BlockColumns::BlockColumns(const TrajectoryRing& ring, const TrajectoryBlock* block)
    : observation_(ring.ColumnOf<std::byte>(block, Column::kObservation)),
      action_(ring.ColumnOf<std::int32_t>(block, Column::kAction)),
      log_prob_(ring.ColumnOf<float>(block, Column::kLogProb)),
      reward_(ring.ColumnOf<float>(block, Column::kReward)),
      flags_(ring.ColumnOf<std::uint8_t>(block, Column::kFlags)),
      mask_(ring.ColumnOf<std::uint8_t>(block, Column::kMask)),
      mask_bytes_(static_cast<std::size_t>(ring.layout().action.mask_bytes())) {}

void BlockColumns::StoreMask(int t, std::span<const std::uint8_t> mask, bool masked) {
  const std::size_t before = static_cast<std::size_t>(t) * mask_bytes_;
  if (!masked) std::fill_n(mask_, before, std::uint8_t{1});
  if (mask.empty()) {
    std::fill_n(mask_ + before, mask_bytes_, std::uint8_t{1});
  } else {
    std::copy(mask.begin(), mask.end(), mask_ + before);
  }
}

void BlockColumns::ReplaceAction(int t, std::span<const std::int32_t> action, float log_prob) {
  std::copy(action.begin(), action.end(), action_ + static_cast<std::size_t>(t) * action.size());
  log_prob_[t] = log_prob;
}

}  // namespace murmurate
