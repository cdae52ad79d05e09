#include "server/replay/mapped_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <new>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kLine = 64;

}  // namespace

MappedBlock::MappedBlock(std::size_t bytes) {
  void* const begin =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  bytes_ = {static_cast<std::byte*>(begin), bytes};
  (void)madvise(begin, bytes, MADV_HUGEPAGE);  // rows are read in no order
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes; at += page) {
    volatile std::byte& touched = bytes_[at];
    touched = std::byte{0};
  }
}

MappedBlock::~MappedBlock() { (void)munmap(bytes_.data(), bytes_.size()); }

std::byte* BlockCursor::Advance(std::size_t bytes) {
  std::byte* const begin = block_.empty() ? nullptr : block_.data() + used_;
  used_ += (bytes + kLine - 1) / kLine * kLine;
  MURMURATE_CHECK(block_.empty() || used_ <= block_.size(), "the block was measured before");
  return begin;
}

}  // namespace murmurate
