// ScratchFile: memory for numbers that may be more than fit into memory: a file without a name,
// mapped. The kernel writes it to disk as it needs the room, and it is gone with the process, however
// that ends. It lies in the folder $TMPDIR, or else /var/tmp, which is on a disk.
//
// Its room is reserved when it is opened, so that a full disk is found then and not at a write.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "murmurate/status.h"

namespace murmurate {

class ScratchFile {
 public:
  ScratchFile() = default;
  /// `size` >= 1. kResource: the folder cannot be written to, or has not the room.
  static Result<ScratchFile> Open(std::size_t size, const std::string& what_for);
  ScratchFile(ScratchFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  ScratchFile& operator=(ScratchFile&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~ScratchFile();

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit ScratchFile(std::span<std::byte> bytes) : bytes_(bytes) {}
  std::span<std::byte> bytes_;
};

}  // namespace murmurate
