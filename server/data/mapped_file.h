// MappedFile: a file's bytes, read by the kernel when they are touched. Mapped and not read piece
// by piece, because rows in random order are small: a system call for each would cost more than the
// row. The price: a file that another program shortens meanwhile ends the process (SIGBUS), so what
// is trained on must not be written in place.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "murmurate/status.h"

namespace murmurate {

class MappedFile {
 public:
  /// kInvalidArgument: no such file, a folder, no permission.
  static Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}
  std::span<const std::byte> bytes_;
};

}  // namespace murmurate
