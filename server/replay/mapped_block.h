// MappedBlock: the memory of a replay, taken from the system as one piece when it is made, so that
// a machine that has too little says so at the start and not after hours; and BlockCursor, which
// cuts columns from it.
#pragma once

#include <cstddef>
#include <span>

namespace murmurate {

/// Zeros, all of it in memory. std::bad_alloc when the system does not give it.
class MappedBlock {
 public:
  explicit MappedBlock(std::size_t bytes);
  ~MappedBlock();
  MappedBlock(const MappedBlock&) = delete;
  MappedBlock& operator=(const MappedBlock&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

/// Gives columns of a block one after the other, each on a border of 64 bytes. Without a block it
/// only counts, and gives empty ones: what takes its columns from a cursor thus says its size.
class BlockCursor {
 public:
  BlockCursor() = default;
  explicit BlockCursor(std::span<std::byte> block) : block_(block) {}

  /// T is nothing but bytes, and 0 of all of them is a value of it.
  template <typename T>
  std::span<T> Next(std::size_t count) {
    std::byte* const begin = Advance(count * sizeof(T));
    return begin == nullptr ? std::span<T>() : std::span<T>(reinterpret_cast<T*>(begin), count);
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* Advance(std::size_t bytes);

  std::span<std::byte> block_;
  std::size_t used_ = 0;
};

}  // namespace murmurate
