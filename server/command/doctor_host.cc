// What `murmurate doctor` asks the operating system.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/command/doctor_lines.h"
#include "server/device/open_device.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kEnoughMiB = 256;

DoctorLine PlugInLine(const std::string& name, const std::string& file, const std::string& what,
                      const std::string& packages) {
  DoctorLine line{.what = "plug-in " + name, .found = FindPlugIn(file)};
  if (!line.found.empty()) return line;
  line.state = DoctorState::kNote;
  line.found = "not built: " + what;
  line.remedy = "install " + packages + " and build murmurate again";
  return line;
}

DoctorLine LockedMemory() {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  DoctorLine line{.what = "locked memory", .found = "no limit"};
  if (limit.rlim_cur == RLIM_INFINITY) return line;
  const std::uint64_t mib = limit.rlim_cur / kMiB;
  line.found = "at most " + std::to_string(mib) + " MiB";
  if (mib >= kEnoughMiB) return line;
  line.state = DoctorState::kNote;
  line.remedy =
      "copies to a GPU may be slower; raise it with `ulimit -l unlimited`, or memlock in "
      "/etc/security/limits.conf";
  return line;
}

DoctorLine HugePages() {
  std::string modes;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), modes);
  const std::size_t begin = modes.find('['), end = modes.find(']');
  DoctorLine line{.what = "huge pages", .found = "this kernel has none"};
  if (begin == std::string::npos || end == std::string::npos) {
    line.state = DoctorState::kNote;
    return line;
  }
  line.found = modes.substr(begin + 1, end - begin - 1);
  if (line.found != "never") return line;
  line.state = DoctorState::kNote;
  line.remedy =
      "large models run slower; as root, `echo madvise > "
      "/sys/kernel/mm/transparent_hugepage/enabled`";
  return line;
}

/// 0, or errno of making a segment, which is removed again: /dev/shm may be there and not be writable.
int TryMakingASegment() {
  const std::string name = "/murmurate-doctor-" + std::to_string(getpid());
  const int fd = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  const int error = fd >= 0 && ftruncate(fd, 4096) == 0 ? 0 : errno;
  if (fd >= 0) {
    close(fd);
    shm_unlink(name.c_str());
  }
  return error;
}

DoctorLine SharedMemory() {
  struct statvfs files {};
  DoctorLine line{.what = "shared memory", .found = ""};
  int error = TryMakingASegment();
  if (error == 0 && statvfs("/dev/shm", &files) != 0) error = errno;
  if (error != 0) {
    line.state = DoctorState::kNote;
    line.found = std::string("no segment can be made in /dev/shm: ") + std::strerror(error);
    line.remedy =
        "actors of this host then get their weights over sockets, which is slower; mount a tmpfs "
        "there that this user may write to";
    return line;
  }
  const std::uint64_t mib = std::uint64_t{files.f_bavail} * files.f_frsize / kMiB;
  line.found = std::to_string(mib) + " MiB free in /dev/shm";
  if (mib >= kEnoughMiB) return line;
  line.state = DoctorState::kNote;
  line.remedy =
      "large models and many learners need more; in a container, `docker run --shm-size=1g`";
  return line;
}

}  // namespace

std::vector<DoctorLine> PlugInLines() {
  return {PlugInLine("hdf5", "murmurate_hdf5.so", "data sets of .h5 files", "libhdf5-dev"),
          PlugInLine("mpi", "murmurate_collective_mpi.so", "parameters.collective = \"mpi\"",
                     "openmpi-bin and libopenmpi-dev")};
}

std::vector<DoctorLine> HostLines() { return {LockedMemory(), HugePages(), SharedMemory()}; }

}  // namespace murmurate
