#include "server/stream/sequence_window.h"

#include <algorithm>

namespace murmurate {

void SequenceWindow::Clear() { *this = SequenceWindow(); }

void SequenceWindow::BeginAt(std::uint64_t last) {
  bits_.fill(~std::uint64_t{0});
  ranges_.clear();
  last_ = last;
  begun_ = true;
}

SequenceWindow::Position SequenceWindow::Find(std::uint64_t number) const {
  if (!begun_ || number > last_) return Position::kNext;
  if (InWindow(number)) return Bit(number) ? Position::kSeen : Position::kLate;
  const bool missing = std::ranges::any_of(ranges_, [number](const Range& range) {
    return range.first <= number && number < range.end;
  });
  return missing ? Position::kLate : Position::kSeen;
}

std::int64_t SequenceWindow::Insert(std::uint64_t number) {
  if (!begun_) {
    begun_ = true;
    first_ = last_ = number;
    SetBit(number, true);
    return 0;
  }
  if (number <= last_) {
    if (InWindow(number)) {
      SetBit(number, true);
    } else {
      Remove(number);
    }
    return number < first_ ? 0 : -1;
  }
  const std::uint64_t missing = number - last_ - 1;
  Slide(number);
  return static_cast<std::int64_t>(missing);
}

/// The window ends with `last`; what leaves it missing is kept in ranges.
void SequenceWindow::Slide(std::uint64_t last) {
  const std::uint64_t before = last_;
  const std::uint64_t leaves = std::min(last - before, kWindow);
  const std::uint64_t first = before >= kWindow ? before - (kWindow - 1) : 0;
  for (std::uint64_t number = first; number < first + leaves && number <= before; ++number)
    if (number >= first_ && last - number >= kWindow && !Bit(number)) Miss(number, number + 1);
  if (last - before > kWindow) Miss(before + 1, last - kWindow + 1);
  for (std::uint64_t i = 0; i < leaves; ++i) SetBit(last - i, i == 0);
  last_ = last;
}

void SequenceWindow::SetBit(std::uint64_t number, bool set) {
  const std::uint64_t bit = std::uint64_t{1} << (number % 64);
  std::uint64_t& word = bits_[number / 64 % bits_.size()];
  word = set ? word | bit : word & ~bit;
}

/// Notes missing numbers above all ranges.
void SequenceWindow::Miss(std::uint64_t first, std::uint64_t end) {
  if (!ranges_.empty() && ranges_.back().end == first) {
    ranges_.back().end = end;
    return;
  }
  if (ranges_.size() == kMostRanges) ranges_.erase(ranges_.begin());
  ranges_.push_back({first, end});
}

/// Takes `number` out of the range that holds it.
void SequenceWindow::Remove(std::uint64_t number) {
  const auto range = std::ranges::find_if(
      ranges_, [number](const Range& one) { return one.first <= number && number < one.end; });
  if (range == ranges_.end()) return;
  const Range below{range->first, number}, above{number + 1, range->end};
  const bool has_below = below.first < below.end, has_above = above.first < above.end;
  if (has_below && has_above) {
    *range = above;
    ranges_.insert(range, below);
    if (ranges_.size() > kMostRanges) ranges_.erase(ranges_.begin());
  } else if (has_below || has_above) {
    *range = has_below ? below : above;
  } else {
    ranges_.erase(range);
  }
}

void SequenceWindow::Save(std::vector<std::uint64_t>* words) const {
  words->insert(words->end(), bits_.begin(), bits_.end());
  words->push_back(first_);
  words->push_back(last_);
  words->push_back(begun_ ? ranges_.size() + 1 : 0);
  for (const Range& range : ranges_) words->insert(words->end(), {range.first, range.end});
  words->insert(words->end(), 2 * (kMostRanges - ranges_.size()), 0);
}

bool SequenceWindow::Load(std::span<const std::uint64_t> words) {
  if (words.size() != kWords || words[bits_.size() + 2] > kMostRanges + 1) return false;
  Clear();
  std::ranges::copy(words.first(bits_.size()), bits_.begin());
  first_ = words[bits_.size()];
  last_ = words[bits_.size() + 1];
  begun_ = words[bits_.size() + 2] > 0;
  const std::size_t ranges = begun_ ? words[bits_.size() + 2] - 1 : 0;
  for (std::size_t i = 0; i < ranges; ++i)
    ranges_.push_back({words[bits_.size() + 3 + 2 * i], words[bits_.size() + 4 + 2 * i]});
  return true;
}

}  // namespace murmurate
