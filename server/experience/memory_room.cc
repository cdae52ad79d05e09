#include "server/experience/memory_room.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace murmurate {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// "MemAvailable:   123 kB"
std::uint64_t Available() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  std::uint64_t kib = 0;
  while (file >> word)
    if (word == "MemAvailable:" && file >> kib) return kib << 10;
  return kUnlimited;
}

/// The number in a file; unlimited where there is no such file, or it says "max".
std::uint64_t LimitIn(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? limit : kUnlimited;
}

/// Lines of /proc/self/cgroup: "4:memory:/path" (version 1), "0::/path" (version 2).
std::uint64_t GroupLimit() {
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::uint64_t least = kUnlimited;
  while (std::getline(file, line)) {
    const std::size_t second = line.find(':', line.find(':') + 1);
    if (second == std::string::npos) continue;
    const std::string path = line.substr(second + 1);
    if (line.find(":memory:") != std::string::npos)
      least = std::min(least, LimitIn("/sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes"));
    if (line.starts_with("0::"))
      least = std::min(least, LimitIn("/sys/fs/cgroup" + path + "/memory.max"));
  }
  return least;
}

}  // namespace

std::uint64_t MemoryRoom() { return std::min(Available(), GroupLimit()); }

}  // namespace murmurate
