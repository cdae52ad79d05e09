#include "server/data/scratch_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace murmurate {
namespace {

std::string Folder() {
  const char* const named = std::getenv("TMPDIR");
  return named != nullptr && *named != 0 ? named : "/var/tmp";
}

/// Not every file system has files without a name.
int OpenNameless(const std::string& folder) {
  const int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd >= 0) return fd;
  std::string path = folder + "/murmurate-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

}  // namespace

Result<ScratchFile> ScratchFile::Open(std::size_t size, const std::string& what_for) {
  const std::string folder = Folder();
  const auto refuse = [&](int error) {
    return ResourceError(what_for + ": needs " + std::to_string(size) + " bytes in " + folder +
                         ", which gave none (" + std::strerror(error) +
                         "); make room there, or set TMPDIR to a folder that has it");
  };
  const int fd = OpenNameless(folder);
  if (fd < 0) return refuse(errno);
  const int error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  void* const mapped =
      error != 0 ? MAP_FAILED : mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = error != 0 ? error : errno;
  close(fd);
  if (mapped == MAP_FAILED) return refuse(why);
  return ScratchFile({static_cast<std::byte*>(mapped), size});
}

ScratchFile::~ScratchFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace murmurate
