#include "shared/transport/shared_segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <boost/interprocess/mapped_region.hpp>
#include <boost/interprocess/shared_memory_object.hpp>
#include <utility>
#include <vector>

#include "shared/core/check.h"

namespace murmurate {

namespace interprocess = boost::interprocess;

struct SharedSegment::Mapping {
  interprocess::shared_memory_object object;
  interprocess::mapped_region region;
};

namespace {

constexpr char kFolder[] = "/dev/shm";

Status CheckName(const std::string& name) {
  if (name.size() < 2 || name[0] != '/' || name.find('/', 1) != name.npos) {
    return InvalidArgument("shared-memory name '" + name +
                           "': expected one '/' and then no other, e.g. /murmurate-0-run-model-1");
  }
  if (name.size() > NAME_MAX) {
    return InvalidArgument("shared-memory name '" + name.substr(0, 40) + "...' has " +
                           std::to_string(name.size()) + " bytes, at most " +
                           std::to_string(NAME_MAX) + " are possible: shorten run.name");
  }
  return Status();
}

Status NoRoom(const std::string& name, std::size_t bytes, int error) {
  struct statvfs volume {};
  const bool known = statvfs(kFolder, &volume) == 0;
  const std::uint64_t free_bytes = known ? std::uint64_t{volume.f_bavail} * volume.f_frsize : 0;
  return ResourceError(
      "cannot reserve shared memory " + name + ": needs " + std::to_string(bytes) + " bytes, " +
      (known ? std::to_string(free_bytes) : "an unknown number of") + " are free in /dev/shm (" +
      strerror(error) +
      "); free some, start the container with a larger docker --shm-size, or set server.shm=off");
}

int Reserve(int fd, std::size_t bytes) {
  int error;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

}  // namespace

SharedSegment::SharedSegment(std::string name, std::unique_ptr<Mapping> mapping, bool owner)
    : name_(std::move(name)),
      mapping_(std::move(mapping)),
      data_(static_cast<std::byte*>(mapping_->region.get_address())),
      size_(mapping_->region.get_size()),
      owner_(owner) {}

SharedSegment::SharedSegment(SharedSegment&& other) noexcept { *this = std::move(other); }

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(mapping_, other.mapping_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(owner_, other.owner_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (owner_) shm_unlink(name_.c_str());
}

void SharedSegment::LetGo(std::size_t bytes) const {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t first = (bytes + page - 1) / page * page;
  if (first < size_) (void)madvise(data_ + first, size_ - first, MADV_DONTNEED);  // a wish
}

Result<SharedSegment> SharedSegment::Create(const std::string& name, std::size_t bytes) {
  MURMURATE_RETURN_IF_ERROR(CheckName(name));
  if (bytes == 0) return InvalidArgument("shared memory " + name + " of 0 bytes is of no use");
  try {
    auto mapping = std::make_unique<Mapping>();
    mapping->object = interprocess::shared_memory_object(interprocess::create_only, name.c_str(),
                                                         interprocess::read_write,
                                                         interprocess::permissions(0600));
    const int fd = mapping->object.get_mapping_handle().handle;
    flock(fd, LOCK_EX | LOCK_NB);  // held for life: how a sweep knows an unfinished segment
    if (const int error = Reserve(fd, bytes); error != 0) {
      shm_unlink(name.c_str());
      return NoRoom(name, bytes, error);
    }
    try {
      mapping->region = interprocess::mapped_region(mapping->object, interprocess::read_write);
    } catch (...) {
      shm_unlink(name.c_str());
      throw;
    }
    return SharedSegment(name, std::move(mapping), true);
  } catch (const interprocess::interprocess_exception& e) {
    return ResourceError("cannot create shared memory " + name + ": " + e.what() +
                         "; if a dead program left it, remove /dev/shm" + name +
                         ", or set server.shm=off");
  }
}

Result<SharedSegment> SharedSegment::OpenReadOnly(const std::string& name) {
  return Open(name, false);
}

Result<SharedSegment> SharedSegment::OpenReadWrite(const std::string& name) {
  return Open(name, true);
}

Result<SharedSegment> SharedSegment::Open(const std::string& name, bool writable) {
  const auto mode = writable ? interprocess::read_write : interprocess::read_only;
  MURMURATE_RETURN_IF_ERROR(CheckName(name));
  try {
    auto mapping = std::make_unique<Mapping>();
    mapping->object =
        interprocess::shared_memory_object(interprocess::open_only, name.c_str(), mode);
    struct stat file {};
    const int fd = mapping->object.get_mapping_handle().handle;
    if (fstat(fd, &file) != 0 || file.st_size <= 0) {
      return InvalidData("shared memory " + name + " is empty: its writer has not finished it");
    }
    if (file.st_uid != geteuid()) {
      return InvalidData("shared memory " + name + " belongs to user " +
                         std::to_string(file.st_uid) + ", not to this one");
    }
    mapping->region = interprocess::mapped_region(mapping->object, mode, 0,
                                                  static_cast<std::size_t>(file.st_size));
    return SharedSegment(name, std::move(mapping), false);
  } catch (const interprocess::interprocess_exception& e) {
    return Unavailable("cannot open shared memory " + name + ": " + e.what());
  }
}

namespace {

/// Whether the segment behind `fd` belongs to no live process.
bool IsAbandoned(int fd, std::size_t owner_offset) {
  struct stat file {};
  if (fstat(fd, &file) != 0 || file.st_uid != geteuid()) return false;
  if (file.st_size == 0) return false;  // just being made
  ProcessIdentity owner;
  const ssize_t got = pread(fd, &owner, sizeof(owner), static_cast<off_t>(owner_offset));
  const bool readable = got == static_cast<ssize_t>(sizeof(owner));
  if (readable && IsAlive(owner)) return false;
  if (readable && owner.boot_hash == ThisProcess().boot_hash && owner.pid != 0) return true;
  // No process has signed yet, or one of another container: its maker's lock decides.
  return flock(fd, LOCK_EX | LOCK_NB) == 0;
}

}  // namespace

bool SharedSegment::IsAbandoned(std::size_t owner_offset) const {
  return murmurate::IsAbandoned(mapping_->object.get_mapping_handle().handle, owner_offset);
}

int SweepDeadSegments(std::size_t owner_offset) {
  DIR* folder = opendir(kFolder);
  if (folder == nullptr) return 0;
  const std::string prefix = "murmurate-" + std::to_string(geteuid()) + "-";
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) {
    if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  }
  closedir(folder);
  int removed = 0;
  for (const std::string& name : names) {
    const int fd = shm_open(("/" + name).c_str(), O_RDONLY, 0);
    if (fd < 0) continue;
    if (IsAbandoned(fd, owner_offset) && shm_unlink(("/" + name).c_str()) == 0) ++removed;
    close(fd);
  }
  return removed;
}

}  // namespace murmurate
