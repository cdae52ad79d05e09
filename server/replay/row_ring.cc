#include "server/replay/row_ring.h"

#include <algorithm>
#include <cstring>

namespace murmurate {
namespace {

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

}  // namespace

RowRing::RowRing(const TrajectoryLayout& layout, std::size_t capacity, BlockCursor& block)
    : layout_(layout),
      capacity_(capacity),
      observation_(block.Next<std::byte>(capacity * layout.row_bytes())),
      action_(block.Next<std::int32_t>(capacity * Size(layout.action.words()))),
      log_prob_(block.Next<float>(capacity)),
      reward_(block.Next<float>(capacity)),
      flags_(block.Next<std::uint8_t>(capacity)),
      mask_(block.Next<std::uint8_t>(capacity * Size(layout.action.mask_bytes()))),
      owner_(block.Next<std::uint32_t>(capacity)) {}

void RowRing::Write(std::uint64_t first, const TrajectoryView& view, std::uint32_t owner) {
  const std::size_t place = Place(first), count = Size(view.steps);
  const std::size_t before = std::min(count, capacity_ - place);  // the end of the ring
  const auto put = [&]<typename T>(std::span<T> column, std::size_t width,
                                   std::span<const T> values) {
    if (values.empty()) return;
    std::memcpy(column.data() + place * width, values.data(), before * width * sizeof(T));
    if (count > before)
      std::memcpy(column.data(), values.data() + before * width,
                  (count - before) * width * sizeof(T));
  };
  const std::size_t masks = Size(layout_.action.mask_bytes());
  put(observation_, layout_.row_bytes(), view.observation);
  put(action_, Size(layout_.action.words()), view.action);
  put(log_prob_, 1, view.log_prob);
  put(reward_, 1, view.reward);
  put(flags_, 1, view.flags);
  put(mask_, masks, view.mask);
  masked_ |= !view.mask.empty();
  if (view.mask.empty()) {
    std::fill_n(mask_.begin() + static_cast<std::ptrdiff_t>(place * masks), before * masks, 1);
    std::fill_n(mask_.begin(), (count - before) * masks, 1);
  }
  std::fill_n(owner_.begin() + static_cast<std::ptrdiff_t>(place), before, owner);
  std::fill_n(owner_.begin(), count - before, owner);
}

void RowRing::CopyTo(std::uint64_t first, int count, std::size_t to, TrainingBatch* batch) const {
  const std::size_t actions = Size(layout_.action.words()),
                    masks = Size(layout_.action.mask_bytes());
  batch->masked |= masked_;
  while (count > 0) {
    const std::size_t place = Place(first), n = std::min(Size(count), capacity_ - place);
    const auto copy = [&]<typename T>(std::span<T> column, std::size_t width, std::span<T> from) {
      if (width > 0)
        std::memcpy(column.data() + to * width, from.data() + place * width, n * width * sizeof(T));
    };
    copy(batch->action, actions, action_);
    copy(batch->log_prob, 1, log_prob_);
    copy(batch->reward, 1, reward_);
    copy(batch->mask, masks, mask_);
    for (std::size_t i = 0; i < n; ++i) batch->flags[to + i] = flags_[place + i] & ~kMarked;
    to += n;
    first += n;
    count -= static_cast<int>(n);
  }
}

void RowRing::CopyObservations(std::uint64_t first, int count, std::byte* to) const {
  while (count > 0) {
    const std::size_t n = std::min(Size(count), capacity_ - Place(first));
    std::memcpy(to, Observation(first), n * layout_.row_bytes());
    to += n * layout_.row_bytes();
    first += n;
    count -= static_cast<int>(n);
  }
}

std::size_t RowRing::CountMarked(std::uint64_t first, std::uint64_t count) const {
  std::size_t marked = 0;
  while (count > 0) {
    const std::size_t place = Place(first);
    const std::size_t n = std::min<std::size_t>(count, capacity_ - place);
    for (std::size_t i = 0; i < n; ++i) marked += flags_[place + i] >> 7;
    first += n;
    count -= n;
  }
  return marked;
}

}  // namespace murmurate
