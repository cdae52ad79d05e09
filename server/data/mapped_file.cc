#include "server/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace murmurate {
namespace {

Status Refuse(const std::string& path, const std::string& why) {
  return InvalidArgument(path + ": cannot be read (" + why +
                         "); give the path of a file, relative to the config's folder");
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Refuse(path, std::strerror(errno));
  struct stat about {};
  const bool known = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  const std::size_t size = known ? static_cast<std::size_t>(about.st_size) : 0;
  void* const mapped = size == 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const int error = errno;
  close(fd);
  if (!known) return Refuse(path, "it is no file");
  if (size == 0) return MappedFile(std::span<const std::byte>());
  if (mapped == MAP_FAILED) return Refuse(path, std::strerror(error));
  return MappedFile({static_cast<const std::byte*>(mapped), size});
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace murmurate
