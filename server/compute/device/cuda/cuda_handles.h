// CudaHandles: CUDA's handles by the numbers that a Device gives for them.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

namespace murmurate {

/// `Handle`: a pointer, of which null is none.
template <typename Handle>
class CudaHandles {
 public:
  /// Its number: the lowest that no other has.
  int Add(Handle handle) {
    const auto free = std::find(handles_.begin(), handles_.end(), nullptr);
    const auto number = static_cast<int>(free - handles_.begin());
    if (free == handles_.end())
      handles_.push_back(handle);
    else
      *free = handle;
    return number;
  }
  Handle Of(int number) const { return handles_[static_cast<std::size_t>(number)]; }
  Handle Remove(int number) {
    return std::exchange(handles_[static_cast<std::size_t>(number)], nullptr);
  }
  template <typename Visit>
  void Each(const Visit& visit) const {
    for (const Handle handle : handles_)
      if (handle != nullptr) visit(handle);
  }

 private:
  std::vector<Handle> handles_;
};

}  // namespace murmurate
