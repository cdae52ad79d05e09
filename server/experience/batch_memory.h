// BatchMemory: where the columns of a TrainingBatch lie, all in one block. A device that copies
// whole batches gives memory of its own (pinned, for one that copies while the processor works);
// the default is plain memory.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace murmurate {

class BatchMemory {
 public:
  virtual ~BatchMemory() = default;

  /// Gives `bytes` > 0 that begin on a border of kBorder at least. Any thread; std::bad_alloc when
  /// there are none.
  virtual std::byte* Allocate(std::size_t bytes) = 0;
  /// Frees what Allocate gave for so many bytes. Any thread.
  virtual void Free(std::byte* block, std::size_t bytes) = 0;

  /// Each column of a block begins on one: what an asynchronous copy and the widest load want.
  static constexpr std::size_t kBorder = 256;
  /// Large blocks begin on one, so that the kernel can give huge pages.
  static constexpr std::size_t kHugePage = 2u << 20;
};

/// The memory of the process, which stays for ever. Blocks of kHugePage and more begin on such a
/// border.
BatchMemory& PlainBatchMemory();

/// One block, given back when this ends. The memory must outlive it.
class BatchBlock {
 public:
  /// Zeros.
  BatchBlock(BatchMemory& memory, std::size_t bytes);

  BatchMemory& memory() const { return *block_.get_deleter().memory; }
  std::span<std::byte> bytes() const { return {block_.get(), block_.get_deleter().bytes}; }

 private:
  struct Free {
    BatchMemory* memory;
    std::size_t bytes;
    void operator()(std::byte* block) const { memory->Free(block, bytes); }
  };
  std::unique_ptr<std::byte[], Free> block_;
};

}  // namespace murmurate
