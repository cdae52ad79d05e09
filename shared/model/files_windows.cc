// Whole files on Windows, for the client: policies are read and written. Paths are UTF-8.
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <windows.h>

#include <cstring>
#include <filesystem>

#include "shared/model/files.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

std::wstring Wide(const std::string& path) {
  return std::filesystem::path(std::u8string(path.begin(), path.end())).wstring();
}

}  // namespace

std::string FileSentence(const std::string& doing, const std::string& path, int error) {
  return "cannot " + doing + " " + path + ": " + std::strerror(error) + "; " +
         (error == ENOSPC ? "free some space on that disk"
                          : "check the path; the folder must exist and be yours");
}

int Descriptor::Close() {
  const int closed = fd_ < 0 ? 0 : _close(fd_);
  fd_ = -1;
  return closed;
}

NewFile::NewFile(const std::string& path)
    : path_(path),
      file_(_wopen(Wide(path).c_str(), _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY | _O_NOINHERIT,
                   _S_IREAD | _S_IWRITE)),
      error_(file_.get() < 0 ? errno : 0) {}

Status NewFile::Write(std::span<const std::byte> bytes) {
  if (file_.get() < 0) return ResourceError(FileSentence("create", path_, error_));
  while (!bytes.empty()) {
    constexpr std::size_t kMost = 1u << 30;
    const auto next = static_cast<unsigned>(std::min(bytes.size(), kMost));
    const int written = _write(file_.get(), bytes.data(), next);
    if (written <= 0) return ResourceError(FileSentence("write", path_, errno));
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return Status();
}

Status NewFile::Sync() {
  if (_commit(file_.get()) == 0 && file_.Close() == 0) return Status();
  return ResourceError(FileSentence("write", path_, errno));
}

Status WriteFileAtomically(const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = path + ".tmp-" + std::to_string(GetCurrentThreadId());
  NewFile file(temporary);
  Status written = file.Write(bytes);
  if (written.ok()) written = file.Sync();
  constexpr DWORD kDurably = MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH;
  if (written.ok() && !MoveFileExW(Wide(temporary).c_str(), Wide(path).c_str(), kDurably)) {
    written = ResourceError("cannot put the new file in place at " + path + ": error " +
                            std::to_string(GetLastError()) + "; is it open elsewhere?");
  }
  if (!written.ok()) DeleteFileW(Wide(temporary).c_str());
  return written;
}

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  const Descriptor file(_wopen(Wide(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT));
  if (file.get() < 0) return InvalidData(FileSentence("open", path, errno));
  const std::int64_t size = _filelengthi64(file.get());
  if (size < 0) return InvalidData(FileSentence("examine", path, errno));
  if (static_cast<std::size_t>(size) > max_bytes) {
    return InvalidData(path + " has " + std::to_string(size) + " bytes where at most " +
                       std::to_string(max_bytes) + " were expected: it is not such a file");
  }
  std::string bytes(static_cast<std::size_t>(size), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto next = static_cast<unsigned>(std::min<std::size_t>(bytes.size() - at, 1u << 30));
    const int got = _read(file.get(), bytes.data() + at, next);
    if (got < 0) return InvalidData(FileSentence("read", path, errno));
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);  // it shrank while we read: what is there is judged by its parser
  return bytes;
}

}  // namespace murmurate
