#include "server/experience/batch_memory.h"

#include <cstring>
#include <new>

namespace murmurate {
namespace {

class PlainMemory : public BatchMemory {
 public:
  std::byte* Allocate(std::size_t bytes) override {
    return static_cast<std::byte*>(::operator new(bytes, BorderOf(bytes)));
  }
  void Free(std::byte* block, std::size_t bytes) override {
    ::operator delete(block, BorderOf(bytes));
  }

 private:
  static std::align_val_t BorderOf(std::size_t bytes) {
    return std::align_val_t{bytes >= kHugePage ? kHugePage : kBorder};
  }
};

}  // namespace

BatchMemory& PlainBatchMemory() {
  static PlainMemory memory;
  return memory;
}

BatchBlock::BatchBlock(BatchMemory& memory, std::size_t bytes)
    : block_(memory.Allocate(bytes), {&memory, bytes}) {
  std::memset(block_.get(), 0, bytes);
}

}  // namespace murmurate
