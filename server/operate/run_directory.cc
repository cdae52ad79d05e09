#include "server/operate/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

Status Failed(const std::string& path, int error) {
  return ResourceError(
      path + ": cannot be made (" + std::strerror(error) +
      "); check the folder's permissions or choose another with --set run.dir=DIR");
}

std::string HolderOf(int lock_fd) {
  char text[32] = {};
  const ssize_t count = pread(lock_fd, text, sizeof text - 1, 0);
  const std::string pid(text, count > 0 ? strcspn(text, "\n") : 0);
  return pid.empty() ? "another process" : "process " + pid;
}

bool SameFile(int fd, const std::string& path) {
  struct stat held, there;
  return fstat(fd, &held) == 0 && stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino &&
         held.st_dev == there.st_dev;
}

/// A lock file may be unlinked by its last holder between our open and our flock: then try again.
Result<int> AcquireLock(const std::string& run) {
  const std::string path = run + "/lock";
  while (true) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) return Failed(path, errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      const std::string holder = HolderOf(fd);
      close(fd);
      return Status(StatusCode::kAlreadyRunning,
                    run + ": " + holder + " is running it (it holds " + path +
                        "); end that with `murmurate stop " + run +
                        "` or choose another name with --set run.name=NAME");
    }
    // guard: RunDirectory.HasOneHolderAtATimeHoweverFastTheyFollowEachOther (3 to 8 of 9000
    //   attempts): the locked file is still the one at its path: its last holder may have unlinked
    //   it
    if (!SameFile(fd, path)) {
      close(fd);
      continue;
    }
    const std::string pid = std::to_string(getpid()) + '\n';
    if (ftruncate(fd, 0) != 0 || pwrite(fd, pid.data(), pid.size(), 0) < 0) {
      const int error = errno;
      close(fd);
      return Failed(path, error);
    }
    return fd;
  }
}

bool HoldsRun(const std::string& path) {
  std::error_code error;
  return fs::exists(path + "/config.toml", error);
}

/// Makes the first free one of NAME, NAME-2, NAME-3, ...; mkdir decides between two that race.
Result<std::string> MakeNextName(const std::string& dir, const std::string& name) {
  for (int i = 1;; ++i) {
    const std::string tried = i == 1 ? name : name + '-' + std::to_string(i);
    if (mkdir((dir + '/' + tried).c_str(), 0755) == 0) return tried;
    if (errno != EEXIST) return Failed(dir + '/' + tried, errno);
  }
}

}  // namespace

std::string MoveAside(const std::string& path) {
  std::error_code error;
  for (int i = 1;; ++i) {
    const std::string aside = path + '.' + std::to_string(i);
    if (fs::exists(aside, error)) continue;
    fs::rename(path, aside, error);
    return error ? "" : aside;
  }
}

Result<RunDirectory> RunDirectory::Open(const std::string& dir, const std::string& name,
                                        WhenTaken when_taken) {
  std::error_code error;
  fs::create_directories(dir, error);
  if (error) return Failed(dir, error.value());
  std::string chosen = name;
  if (when_taken == WhenTaken::kNextName) {
    auto made = MakeNextName(dir, name);
    if (!made.ok()) return made.status();
    chosen = *made;
  } else if (mkdir((dir + '/' + name).c_str(), 0755) != 0 && errno != EEXIST) {
    return Failed(dir + '/' + name, errno);
  }
  const std::string path = dir + '/' + chosen;
  auto lock = AcquireLock(path);
  if (!lock.ok()) return lock.status();
  RunDirectory run(path, chosen, *lock);
  if (!HoldsRun(path) || when_taken == WhenTaken::kGoOn) return run;
  if (when_taken != WhenTaken::kFresh)
    return InvalidArgument(path +
                           ": holds an earlier run; go on with it with `murmurate serve "
                           "--resume` (or `murmurate resume " +
                           path + "`), start afresh with --fresh (the earlier one is kept as " +
                           path + ".1) or choose another name with --set run.name=NAME");
  for (const char* left : {"/lock", "/address.json"}) unlink((path + left).c_str());
  if (MoveAside(path).empty()) return Failed(path, errno);
  close(run.lock_fd_);
  run.lock_fd_ = -1;
  return Open(dir, name, WhenTaken::kRefuse);
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), name_(std::move(other.name_)), lock_fd_(other.lock_fd_) {
  other.lock_fd_ = -1;
}

RunDirectory::~RunDirectory() {
  if (lock_fd_ < 0) return;
  if (!StillThere().ok()) {
    close(lock_fd_);
    return;
  }
  unlink((path_ + "/address.json").c_str());
  unlink((path_ + "/lock").c_str());
  close(lock_fd_);
}

int RunDirectory::HolderOf(const std::string& folder) {
  const int fd = open((folder + "/lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[32] = {};
  const bool held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (held && pread(fd, text, sizeof text - 1, 0) < 0) text[0] = '\0';
  close(fd);
  return std::atoi(text);
}

Status RunDirectory::StillThere() const {
  if (SameFile(lock_fd_, path_ + "/lock")) return {};
  return ResourceError(path_ +
                       ": was removed or replaced while the run used it, so its log, its progress "
                       "and its earlier checkpoints are lost; what it holds now was written at the "
                       "end");
}

Status RunDirectory::Write(const std::string& file, const std::string& text) const {
  return WriteFileAtomically(path_ + '/' + file,
                             std::as_bytes(std::span(text.data(), text.size())));
}

Result<std::string> RunDirectory::ModelFolder(const std::string& model) const {
  const std::string folder = path_ + "/models/" + model;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Failed(folder, error.value());
  return folder;
}

}  // namespace murmurate
