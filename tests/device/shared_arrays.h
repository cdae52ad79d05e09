// SharedArrays: the arrays that one block's threads share, each with its own allocation, so that
// AddressSanitizer sees what is read beside it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace murmurate {

struct HostKernel;

/// A MURMURATE_SHARED of the source.
struct SharedPlace {
  int line;
  std::string_view file;
  std::size_t bytes;
  bool operator==(const SharedPlace&) const = default;
};

class SharedArrays {
 public:
  /// Every array is not a number again.
  void BeginBlock(const HostKernel& kernel);
  /// The block's array of this place. Arrays of one block have 48 KB together, as on a GPU.
  void* Find(const SharedPlace& place);
  /// The same, or null where Find has not made it since BeginBlock. Any number of threads.
  void* FindMade(const SharedPlace& place) const;
  /// Of the arrays made since BeginBlock.
  std::vector<SharedPlace> places() const;

 private:
  struct Array {
    SharedPlace place;
    std::unique_ptr<std::byte[]> memory;
    bool made = false;  ///< since BeginBlock
  };
  void* Make(Array* array);

  const HostKernel* kernel_ = nullptr;
  std::vector<Array> arrays_;
  std::size_t made_bytes_ = 0;
};

}  // namespace murmurate
