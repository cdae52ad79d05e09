#include "server/daemon/descriptors.h"

#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <limits>

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::atomic<std::uint64_t> turned_away{0};

long long FileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  const rlim_t most = std::numeric_limits<int>::max();  // of RLIM_INFINITY, too
  return static_cast<long long>(std::min(limit.rlim_cur, most));
}

int Accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  const int fd = static_cast<int>(syscall(SYS_accept4, listener, address, size, flags));
  if (fd < 0) {
    if (errno == EMFILE) errno = ENFILE;  // libzmq bears that one on every listener
    return fd;
  }
  if (fd < FileLimit() - kKeptForFiles) return fd;
  close(fd);
  turned_away.fetch_add(1, std::memory_order_relaxed);
  errno = ECONNABORTED;
  return -1;
}

}  // namespace

Status RaiseFileLimit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_max >= 1024) return {};
  return ResourceError(
      "at most " + std::to_string(limit.rlim_max) +
      " files may be open, expected at least 1024; raise the limit with ulimit -Hn 4096");
}

std::string DescriptorsInWords() {
  long long open = 0;
  std::error_code error;
  for (fs::directory_iterator at("/proc/self/fd", error), end; !error && at != end; ++at) ++open;
  const long long limit = FileLimit();
  return std::to_string(limit) +
         " files may be open: " + std::to_string(std::max(0LL, limit - kKeptForFiles - open)) +
         " connections beside those of now; a client takes 1 on this host and 3 over the network";
}

std::uint64_t ConnectionsTurnedAway() { return turned_away.load(std::memory_order_relaxed); }

void BeginRoutingIdsAtRandom() {
  unsigned seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed = static_cast<unsigned>(getpid());
  std::srand(seed);
}

}  // namespace murmurate

extern "C" {
__attribute__((visibility("default"))) int accept4(int listener, sockaddr* address, socklen_t* size,
                                                   int flags) {
  return murmurate::Accept(listener, address, size, flags);
}
__attribute__((visibility("default"))) int accept(int listener, sockaddr* address,
                                                  socklen_t* size) {
  return murmurate::Accept(listener, address, size, 0);
}
}
