#include "tests/device/shared_arrays.h"

#include "tests/device/kernel_block.h"

namespace murmurate {

void SharedArrays::BeginBlock(const HostKernel& kernel) {
  kernel_ = &kernel;
  for (Array& array : arrays_) array.made = false;
  made_bytes_ = 0;
}

void* SharedArrays::Find(const SharedPlace& place) {
  for (Array& array : arrays_) {
    if (array.place == place) return array.made ? array.memory.get() : Make(&array);
  }
  arrays_.push_back({place, std::make_unique<std::byte[]>(place.bytes)});
  return Make(&arrays_.back());
}

void* SharedArrays::FindMade(const SharedPlace& place) const {
  for (const Array& array : arrays_) {
    if (array.made && array.place == place) return array.memory.get();
  }
  return nullptr;
}

std::vector<SharedPlace> SharedArrays::places() const {
  std::vector<SharedPlace> places;
  for (const Array& array : arrays_) {
    if (array.made) places.push_back(array.place);
  }
  return places;
}

void* SharedArrays::Make(Array* array) {
  constexpr std::size_t kMostBytes = 48 << 10;
  array->made = true;
  made_bytes_ += array->place.bytes;
  if (made_bytes_ > kMostBytes) KernelFails(*kernel_, "a block shares 48 KB at most");
  FillWith(Poison::kDoubles, array->memory.get(), array->place.bytes);
  return array->memory.get();
}

}  // namespace murmurate
