// FloatParts: a model's numbers in the order of its parameters, in one or several pieces of memory.
// A view: the memory, and the list of pieces, belong to another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "server/parameters/shard.h"

namespace murmurate {

template <typename T>
class FloatParts {
 public:
  FloatParts(std::span<T> whole) : whole_(whole) {}
  explicit FloatParts(std::span<const std::span<T>> parts) : parts_(parts) {}

  /// The number of pieces.
  std::size_t pieces() const { return parts_.empty() ? 1 : parts_.size(); }
  std::span<T> piece(std::size_t i) const { return parts_.empty() ? whole_ : parts_[i]; }

  /// Calls visit(numbers, offset) for each piece of `range`, in order; `offset` counts from the
  /// range's start.
  template <typename Visit>
  void InRange(PartRange range, const Visit& visit) const {
    const std::size_t end = range.begin + range.count;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < pieces(); ++i) {
      const std::span<T> numbers = piece(i);
      const std::size_t from = std::max(begin, range.begin);
      const std::size_t to = std::min(begin + numbers.size(), end);
      if (from < to) visit(numbers.subspan(from - begin, to - from), from - range.begin);
      begin += numbers.size();
    }
  }

 private:
  std::span<T> whole_;
  std::span<const std::span<T>> parts_;  ///< none: the whole
};

}  // namespace murmurate
