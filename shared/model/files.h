// Files on the disk, for those who need more than a whole file at once (shared/model/safetensors.h
// has WriteFileAtomically and ReadFile): new ones that are synced, folders that are synced, files
// of an open folder. Every status names the path, errno's words and a remedy.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

/// "cannot DOING PATH: No space left on device; free some space on that disk"
std::string FileSentence(const std::string& doing, const std::string& path, int error);

/// A file descriptor that closes itself; below 0: none.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { Close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int Close();

 private:
  int fd_;
};

/// A file that was not there before; a left-over of a dead process is replaced.
class NewFile {
 public:
  explicit NewFile(const std::string& path);
  Status Write(std::span<const std::byte> bytes);
  /// Puts it on the disk and closes it. After a failure the bytes are lost: write another file.
  Status Sync();

 private:
  const std::string path_;
  Descriptor file_;
  int error_ = 0;  ///< of making it
};

/// Puts the names in a folder on the disk.
Status SyncFolder(const std::string& path);

/// The file `name` of the open folder `folder_fd`, called `path` in words; kInvalidData when it is
/// larger than `max_bytes`, or no regular file (a link is none).
Result<std::string> ReadFileAt(int folder_fd, const std::string& name, const std::string& path,
                               std::size_t max_bytes);

}  // namespace murmurate
