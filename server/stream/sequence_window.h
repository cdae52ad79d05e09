// SequenceWindow: which of the sequence numbers of one device have come, so that a number that
// comes late is told from one that comes twice.
//
// Each of the last kWindow numbers up to the largest has a bit. Numbers below these that have not
// come are kept as at most kMostRanges ranges, of which the lowest is dropped for a new one.
// Numbers below the window that are in no range count as seen. So a single message that is
// overtaken is always told correctly, however far it is overtaken, and so is any disorder within
// the window.
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

  enum class Position : std::uint8_t {
    kNext,  ///< above all that came
    kLate,  ///< below the largest, and has not come
    kSeen,  ///< has come, or is below the window and in no range
  };

  /// Forgets all numbers: the device counts anew.
  void Clear();
  /// Counts `last` and every number below it as seen: a checkpoint of format 1 knows no more.
  void BeginAt(std::uint64_t last);
  /// The position of `number`; kNext as long as no number has come.
  Position Find(std::uint64_t number) const;
  /// Notes that `number`, which is not kSeen, has come. Returns by how much the count of missing
  /// numbers changes: for kNext, how many lie between the largest and this one (0 for the first
  /// number that comes); for kLate, -1, or 0 when it is below the first number that came.
  std::int64_t Insert(std::uint64_t number);

  bool empty() const { return !begun_; }
  std::uint64_t last() const { return last_; }  ///< the largest; 0 while empty

  /// The number of words that Save appends.
  static constexpr std::size_t kWords = kWindow / 64 + 3 + 2 * kMostRanges;
  void Save(std::vector<std::uint64_t>* words) const;
  /// False: `words` cannot have been written by Save.
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

  std::array<std::uint64_t, kWindow / 64> bits_ = {};  ///< [number modulo kWindow]: it has come
  std::uint64_t first_ = 0, last_ = 0;
  bool begun_ = false;
  std::vector<Range> ranges_;  ///< ascending, below the window
};

}  // namespace murmurate
