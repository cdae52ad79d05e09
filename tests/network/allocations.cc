#include "tests/network/allocations.h"

#include <cstdlib>
#include <new>

namespace {
thread_local long allocations = 0;
}

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace murmurate {
long Allocations() { return allocations; }
}  // namespace murmurate
