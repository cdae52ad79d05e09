// SharedArrays: the arrays that one block's threads share, each with its own allocation, so that
// AddressSanitizer sees what is read beside it.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace murmurate {

struct HostKernel;

class SharedArrays {
 public:
  /// Every array is not a number again.
  void BeginBlock(const HostKernel& kernel);
  /// The block's array that this place of the source names. Arrays of one block have 48 KB
  /// together, as on a GPU.
  void* Find(int line, const char* file, std::size_t bytes);

 private:
  struct Array {
    int line;
    const char* file;
    std::size_t bytes;
    std::unique_ptr<std::byte[]> memory;
    bool used;  ///< by this block
  };
  void* Use(Array* array);

  const HostKernel* kernel_ = nullptr;
  std::vector<Array> arrays_;
  std::size_t used_bytes_ = 0;
};

}  // namespace murmurate
