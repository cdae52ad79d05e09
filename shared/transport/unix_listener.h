// A listening Unix socket made by us and handed to libzmq (ZMQ_USE_FD): libzmq would replace a live
// listener's file without a word, and would remove its own some time after the socket was closed.
#pragma once

#include <sys/types.h>

#include <string>

#include "murmurate/status.h"

namespace murmurate {

/// The longest path that fits a sockaddr_un with its final zero.
inline constexpr std::size_t kMaxSocketPath = 107;

/// The file of a listening socket; unlinked by the destructor if it is still ours.
class UnixListener {
 public:
  /// A left-over file without a listener is replaced; a live listener is kAlreadyRunning.
  static Result<UnixListener> Open(const std::string& path);
  UnixListener(UnixListener&& other) noexcept;
  UnixListener& operator=(UnixListener&&) = delete;
  ~UnixListener();

  /// Gives the descriptor away: the caller closes it.
  int ReceiveDescriptor();

 private:
  UnixListener(std::string path, int fd);
  std::string path_;
  int fd_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace murmurate
