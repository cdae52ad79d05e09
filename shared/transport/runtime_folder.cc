#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string>

#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

constexpr int kTries = 20;

struct Made {
  std::string path;  // without the final slash
  pid_t pid = 0;     // a forked child makes its own
  int lock = -1;     // held for the process's life
};

std::mutex made_mutex;
Made made;

std::string BaseFolder() {
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    struct stat file {};
    if (value != nullptr && value[0] == '/' && stat(value, &file) == 0 && S_ISDIR(file.st_mode) &&
        access(value, W_OK) == 0) {
      return value;
    }
  }
  return "/tmp";
}

/// Makes `path` a folder of ours that no other user may enter, or says why it is none.
Status MakePrivate(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ResourceError("cannot make the folder " + path + ": " + strerror(errno) +
                         "; set XDG_RUNTIME_DIR or TMPDIR to a writable one");
  }
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0 || !S_ISDIR(file.st_mode) || file.st_uid != geteuid() ||
      (file.st_mode & 077) != 0) {
    return ResourceError("the folder " + path +
                         " is not private: expected one of this user with mode 0700; remove it or "
                         "set XDG_RUNTIME_DIR");
  }
  return Status();
}

int AcquireLock(const std::string& folder) {
  const int fd = open((folder + "/lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

void SweepDead(const std::string& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (name.empty() || name.size() > 9 ||
        !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      continue;
    }
    if (kill(std::stoi(name), 0) == 0 || errno != ESRCH) continue;
    const int lock = AcquireLock(entry.path());  // not obtained: alive in another container
    if (lock < 0) continue;
    fs::remove_all(entry.path(), ignored);
    close(lock);
  }
}

Status MakeBoth(const std::string& parent, const std::string& path) {
  MURMURATE_RETURN_IF_ERROR(MakePrivate(parent));
  SweepDead(parent);
  return MakePrivate(path);
}

}  // namespace

Result<std::string> RuntimeFolder() {
  const std::lock_guard lock(made_mutex);
  if (made.pid == getpid()) return made.path + "/";
  const std::string parent = BaseFolder() + "/murmurate-" + std::to_string(geteuid());
  const std::string path = parent + "/" + std::to_string(getpid());
  Status status = MakeBoth(parent, path);
  // guard: RuntimeFolderTest.ProcessesComeAndGoWithoutDisturbingEachOther: the folder is made again
  //   when its last user removes the parent meanwhile
  // Between the two steps another process, the last user, may have taken the parent away.
  for (int i = 1; i < kTries && !status.ok(); ++i) status = MakeBoth(parent, path);
  if (!status.ok()) return status;
  const int held = AcquireLock(path);
  if (held < 0) {
    return ResourceError("the folder " + path +
                         " is in use by a process of another container: set XDG_RUNTIME_DIR to one "
                         "of its own");
  }
  std::error_code ignored;  // what an earlier process of this number left
  for (const fs::directory_entry& entry : fs::directory_iterator(path, ignored)) {
    if (entry.path().filename() != "lock") fs::remove_all(entry.path(), ignored);
  }
  made = {path, getpid(), held};
  return path + "/";
}

void RemoveRuntimeFolder() {
  const std::lock_guard lock(made_mutex);
  if (made.pid != getpid()) return;
  std::error_code ignored;
  fs::remove_all(made.path, ignored);
  close(made.lock);
  rmdir(fs::path(made.path).parent_path().c_str());  // fails, rightly, while others use it
  made = {};
}

}  // namespace murmurate
