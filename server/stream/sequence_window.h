// SequenceWindow: which of the numbers of one device have come, so that one that comes late is told
// from one that comes twice.
//
// Of the last kWindow numbers up to the largest there is a bit each. What is missing below these is
// kept as at most kMostRanges ranges of numbers, of which the lowest is given up for a new one:
// numbers in none of them count as seen. So any single overtaking is exact, however far it goes,
// and so is any disorder within the window.
//
// Plain data of one thread; 128 bytes, and 16 for each range.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace murmurate {

class SequenceWindow {
 public:
  static constexpr std::uint64_t kWindow = 1024;
  static constexpr std::size_t kMostRanges = 16;

  enum class Place : std::uint8_t {
    kNext,  ///< above all that came
    kLate,  ///< below the largest, and has not come
    kSeen,  ///< has come, or lies where nothing is known any more
  };

  /// Nothing has come, or the count begins anew.
  void Clear();
  /// `last` and everything below it have come: as much as a checkpoint of format 1 says.
  void BeginAt(std::uint64_t last);
  /// Before the first number: kNext.
  Place Find(std::uint64_t number) const;
  /// Of one that is not kSeen. How many numbers it says are missing: those between the largest and
  /// a kNext one; -1 for a kLate one, which is missing no longer; 0 for one below the first.
  std::int64_t Take(std::uint64_t number);

  bool empty() const { return !begun_; }
  std::uint64_t last() const { return last_; }  ///< the largest; 0 while empty

  /// Words that Save appends: kWords.
  static constexpr std::size_t kWords = kWindow / 64 + 3 + 2 * kMostRanges;
  void Save(std::vector<std::uint64_t>* words) const;
  /// False: no Save wrote this.
  bool Load(std::span<const std::uint64_t> words);

 private:
  struct Range {
    std::uint64_t first, end;  ///< missing: from `first` to before `end`
  };

  bool Bit(std::uint64_t number) const {
    return (bits_[number / 64 % bits_.size()] >> (number % 64) & 1) != 0;
  }
  void SetBit(std::uint64_t number, bool set);
  bool InWindow(std::uint64_t number) const { return last_ - number < kWindow; }
  void Slide(std::uint64_t last);
  void Miss(std::uint64_t first, std::uint64_t end);
  void Remove(std::uint64_t number);

  std::array<std::uint64_t, kWindow / 64> bits_ = {};  ///< of each number modulo kWindow: it came
  std::uint64_t first_ = 0, last_ = 0;
  bool begun_ = false;
  std::vector<Range> ranges_;  ///< ascending, below the window
};

}  // namespace murmurate
