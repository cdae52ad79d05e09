#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string_view>

#include "shared/core/sha256.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {
namespace {

std::string ReadSmallFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::array<char, 2048> text;
  const ssize_t size = read(fd, text.data(), text.size());
  close(fd);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "";
}

std::uint64_t HashText(const std::string& text) {
  const Sha256Digest digest = Sha256(text);
  std::uint64_t hash;
  std::memcpy(&hash, digest.data(), sizeof(hash));
  return hash;
}

std::string InodeOf(const char* path) {
  struct stat file {};
  if (stat(path, &file) != 0) return "none";
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

/// Read each time: what is kept would be destroyed under threads that a host leaves running when it
/// exits or unloads the library.
std::string BootId() { return ReadSmallFile("/proc/sys/kernel/random/boot_id"); }

/// Field 22 of /proc/PID/stat; the command in field 2 may hold blanks and brackets. 0: no such
/// process, or one that has ended and was not yet waited for.
std::uint64_t StartTicks(std::uint64_t pid) {
  const std::string text = ReadSmallFile("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t command_end = text.rfind(')');
  if (command_end == text.npos || command_end + 2 >= text.size()) return 0;
  std::string_view rest = std::string_view(text).substr(command_end + 2);
  if (rest.front() == 'Z' || rest.front() == 'X') return 0;
  for (int field = 3; field < 22; ++field) {
    const std::size_t blank = rest.find(' ');
    if (blank == rest.npos) return 0;
    rest.remove_prefix(blank + 1);
  }
  std::uint64_t ticks = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return ticks;
}

}  // namespace

ProcessIdentity ThisProcess() {
  // Process numbers mean something only within one boot and one pid namespace (a container).
  static const std::uint64_t boot_hash = HashText(BootId() + InodeOf("/proc/self/ns/pid"));
  const auto pid = static_cast<std::uint64_t>(getpid());
  return {pid, StartTicks(pid), boot_hash};
}

bool IsAlive(const ProcessIdentity& identity) {
  return identity.pid != 0 && identity.boot_hash == ThisProcess().boot_hash &&
         identity.start_ticks != 0 && StartTicks(identity.pid) == identity.start_ticks;
}

std::uint64_t HostIdentity() {
  // Another user could not open the segment (0600), another container may have another /dev/shm.
  return HashText(BootId() + InodeOf("/dev/shm") + "uid" + std::to_string(geteuid()));
}

}  // namespace murmurate
