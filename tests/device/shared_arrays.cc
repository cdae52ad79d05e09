#include "tests/device/shared_arrays.h"

#include <cstring>

#include "tests/device/kernel_block.h"

namespace murmurate {

void SharedArrays::BeginBlock(const HostKernel& kernel) {
  kernel_ = &kernel;
  for (Array& array : arrays_) array.used = false;
  used_bytes_ = 0;
}

void* SharedArrays::Find(int line, const char* file, std::size_t bytes) {
  for (Array& array : arrays_) {
    if (array.line == line && array.bytes == bytes && std::strcmp(array.file, file) == 0)
      return Use(&array);
  }
  arrays_.push_back({line, file, bytes, std::make_unique<std::byte[]>(bytes), false});
  return Use(&arrays_.back());
}

void* SharedArrays::Use(Array* array) {
  constexpr std::size_t kMostBytes = 48 << 10;
  if (!array->used) {
    array->used = true;
    used_bytes_ += array->bytes;
    if (used_bytes_ > kMostBytes) KernelFails(*kernel_, "a block shares 48 KB at most");
    Poison(array->memory.get(), array->bytes);
  }
  return array->memory.get();
}

}  // namespace murmurate
