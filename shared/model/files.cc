#include "shared/model/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

const char* Remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space on that disk";
    case EACCES:
    case EPERM:
      return "give this user the right to it or choose another place";
    case ENOENT:
    case ENOTDIR:
      return "check the path; the folder must exist";
    case EROFS:
      return "choose a place that can be written";
    case EMFILE:
    case ENFILE:
      return "raise the limit of open files (ulimit -n)";
    default:
      return "check the disk and the path";
  }
}

bool WriteAll(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// A thread of our number died while it wrote: its left-over is replaced.
int CreateExclusively(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const int fd = open(path.c_str(), kFlags, 0666);
  if (fd >= 0 || errno != EEXIST) return fd;
  unlink(path.c_str());
  return open(path.c_str(), kFlags, 0666);
}

Status ReadAll(int fd, const std::string& path, std::string* bytes) {
  std::size_t at = 0;
  while (at < bytes->size()) {
    const ssize_t got = read(fd, bytes->data() + at, bytes->size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return InvalidData(FileSentence("read", path, errno));
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes->resize(at);  // it shrank while we read: what is there is judged by its parser
  return Status();
}

Result<std::string> ReadOpened(const Descriptor& file, const std::string& path,
                               std::size_t max_bytes) {
  if (file.get() < 0) return InvalidData(FileSentence("open", path, errno));
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return InvalidData(FileSentence("examine", path, errno));
  if (!S_ISREG(facts.st_mode)) {
    return InvalidData("cannot read " + path + ": it is no regular file; check the path");
  }
  const std::size_t size = static_cast<std::size_t>(facts.st_size);
  if (size > max_bytes) {
    return InvalidData(path + " has " + std::to_string(size) + " bytes where at most " +
                       std::to_string(max_bytes) + " were expected: it is not such a file");
  }
  std::string bytes(size, '\0');
  MURMURATE_RETURN_IF_ERROR(ReadAll(file.get(), path, &bytes));
  return bytes;
}

constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK;  // a pipe must not block

}  // namespace

std::string FileSentence(const std::string& doing, const std::string& path, int error) {
  return "cannot " + doing + " " + path + ": " + std::strerror(error) + "; " + Remedy(error);
}

int Descriptor::Close() {
  const int closed = fd_ < 0 ? 0 : close(fd_);
  fd_ = -1;
  return closed;
}

NewFile::NewFile(const std::string& path)
    : path_(path), file_(CreateExclusively(path)), error_(file_.get() < 0 ? errno : 0) {}

Status NewFile::Write(std::span<const std::byte> bytes) {
  if (file_.get() < 0) return ResourceError(FileSentence("create", path_, error_));
  if (WriteAll(file_.get(), bytes)) return Status();
  return ResourceError(FileSentence("write", path_, errno));
}

Status NewFile::Sync() {
  if (fsync(file_.get()) == 0 && file_.Close() == 0) return Status();
  return ResourceError(FileSentence("write", path_, errno));
}

Status SyncFolder(const std::string& path) {
  Descriptor directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || fsync(directory.get()) != 0) {
    return ResourceError(FileSentence("make the new name durable in", path, errno));
  }
  return Status();
}

Status WriteFileAtomically(const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = path + ".tmp-" + std::to_string(gettid());
  NewFile file(temporary);
  Status written = file.Write(bytes);
  if (written.ok()) written = file.Sync();
  if (written.ok() && rename(temporary.c_str(), path.c_str()) != 0) {
    written = ResourceError(FileSentence("put the new file in place at", path, errno));
  }
  if (!written.ok()) {
    unlink(temporary.c_str());
    return written;
  }
  const std::size_t slash = path.rfind('/');
  return SyncFolder(slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  return ReadOpened(Descriptor(open(path.c_str(), kReading)), path, max_bytes);
}

Result<std::string> ReadFileAt(int folder_fd, const std::string& name, const std::string& path,
                               std::size_t max_bytes) {
  return ReadOpened(Descriptor(openat(folder_fd, name.c_str(), kReading | O_NOFOLLOW)), path,
                    max_bytes);
}

}  // namespace murmurate
