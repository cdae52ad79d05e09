// HostMemory: the memory of a HostDevice. Nothing can read or write it but while it is open; what is
// beside a block cannot be read at any time (as AddressSanitizer sees it: to the byte). Addresses are
// the program's choice and are not used twice, so that another program can have memory at the same
// ones (launch_recording.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "tests/device/kernel_block.h"

namespace murmurate {

class HostMemory {
 public:
  explicit HostMemory(std::size_t limit_bytes, Poison poison = Poison::kDoubles)
      : limit_bytes_(limit_bytes), poison_(poison) {}
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;

  /// On a border of 256 bytes, and filled with the poison; null: the limit is reached.
  void* Allocate(std::size_t bytes);
  void Free(void* memory);

  void Open();
  void Close();

  /// Whether all of it lies in one block.
  bool Holds(const void* memory, std::size_t bytes) const;
  /// Whether any of it lies in a block.
  bool Touches(const void* memory, std::size_t bytes) const;
  std::size_t free_bytes() const { return limit_bytes_ - used_bytes_; }
  std::size_t blocks() const { return blocks_.size(); }
  /// All blocks, in the order of their addresses.
  std::vector<std::span<std::byte>> Blocks() const;

 private:
  struct Block {
    std::byte* pages;
    std::size_t page_bytes;  ///< without the page behind, which stays closed
    std::size_t bytes;       ///< that were asked for
  };
  void Protect(const Block& block, bool open) const;

  const std::size_t limit_bytes_;
  const Poison poison_;
  std::size_t used_bytes_ = 0;
  bool open_ = false;
  std::map<std::uintptr_t, Block> blocks_;  ///< by their address
};

}  // namespace murmurate
