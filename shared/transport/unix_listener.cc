#include "shared/transport/unix_listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utility>

namespace murmurate {
namespace {

constexpr int kBacklog = 1024;

int NewSocket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

sockaddr_un AddressOf(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, path.c_str(), path.size());
  return address;
}

/// The file is in the way: removes it when it has no listener.
Status RemoveStale(const std::string& path) {
  struct stat file {};
  if (lstat(path.c_str(), &file) == 0 && !S_ISSOCK(file.st_mode)) {
    return InvalidArgument("cannot listen on ipc://" + path +
                           ": a file that is no socket is in the way; remove it or choose another "
                           "path with server.listen");
  }
  const int probe = NewSocket();
  if (probe < 0) return ResourceError(std::string("cannot make a Unix socket: ") + strerror(errno));
  const sockaddr_un address = AddressOf(path);
  const int rc = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = rc == 0 ? 0 : errno;
  close(probe);
  if (error == 0 || error == EAGAIN || error == EINPROGRESS) {
    return Status(StatusCode::kAlreadyRunning,
                  "another program listens on ipc://" + path +
                      ": stop it or choose another path with server.listen");
  }
  if (error != ECONNREFUSED && error != ENOENT) {
    return ResourceError("cannot see who listens on ipc://" + path + ": " + strerror(error) +
                         "; choose another path with server.listen");
  }
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return ResourceError("cannot remove the left-over socket file " + path + ": " +
                         strerror(errno));
  }
  return Status();
}

}  // namespace

Result<UnixListener> UnixListener::Open(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.size() > kMaxSocketPath) {
    return InvalidArgument("cannot listen on ipc://" + path +
                           ": expected an absolute path of at most 107 bytes, got " +
                           std::to_string(path.size()) + " bytes, e.g. ipc:///tmp/murmurate/main");
  }
  const int fd = NewSocket();
  if (fd < 0) return ResourceError(std::string("cannot make a Unix socket: ") + strerror(errno));
  UnixListener listener(path, fd);
  const sockaddr_un address = AddressOf(path);
  fchmod(fd, 0600);
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
      struct stat file {};
      if (stat(path.c_str(), &file) == 0) {
        listener.device_ = file.st_dev;
        listener.inode_ = file.st_ino;
      }
      chmod(path.c_str(), 0600);
      if (listen(fd, kBacklog) == 0) return listener;
      break;
    }
    if (errno != EADDRINUSE) break;
    if (Status status = RemoveStale(path); !status.ok()) return status;
  }
  return ResourceError("cannot listen on ipc://" + path + ": " + strerror(errno) +
                       "; the folder must exist and be writable");
}

UnixListener::UnixListener(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      device_(other.device_),
      inode_(std::exchange(other.inode_, 0)) {}

UnixListener::~UnixListener() {
  struct stat file {};
  if (inode_ != 0 && lstat(path_.c_str(), &file) == 0 && file.st_ino == inode_ &&
      file.st_dev == device_) {
    unlink(path_.c_str());
  }
  if (fd_ >= 0) close(fd_);
}

int UnixListener::ReceiveDescriptor() { return std::exchange(fd_, -1); }

}  // namespace murmurate
