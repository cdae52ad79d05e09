// What `murmurate doctor` says of the machine: processor, memory, ports, limits and folders.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/command/doctor_lines.h"
#include "server/command/machine.h"
#include "server/metrics/number_text.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kEnoughFiles = 1024;
constexpr double kEnoughGib = 1;

DoctorLine Processor(const Machine& machine) {
  DoctorLine line{.what = "processor",
                  .found = machine.processor + ", " + std::to_string(machine.usable_cores) +
                           " of " + std::to_string(machine.cores) + " cores usable"};
  if (machine.core_share > 0)
    line.found += ", its control group allows " + FormatNumber("%.2g", machine.core_share);
  const bool limited = machine.core_share > 0 && machine.core_share < 2;
  if (machine.usable_cores >= 2 && !limited) return line;
  line.state = DoctorState::kNote;
  line.remedy =
      machine.cores < 2 || limited
          ? "learner and actors share one core, so training takes longer; give the machine or the "
            "container a second one (`docker run --cpus=2`)"
          : "learner and actors share one core, so training takes longer; let it run on more "
            "(`taskset`, cpuset of the container)";
  return line;
}

DoctorLine Vectors(const Machine& machine) {
  DoctorLine line{.what = "vectors", .found = machine.vectors};
  if (machine.vectors != machine.widest) {
    line.state = DoctorState::kNote;
    line.found += ", asked for by MURMURATE_KERNELS; the processor has " + machine.widest;
    line.remedy = "unset MURMURATE_KERNELS for the faster kernels";
  } else if (machine.vectors == "plain") {
    line.state = DoctorState::kNote;
    line.found += ": the processor has no AVX2";
    line.remedy =
        "networks run several times slower than on a processor that has it; a virtual machine must "
        "be told to pass it on (cpu model \"host\")";
  }
  return line;
}

/// Of /proc/meminfo, in GiB; negative where it does not say.
double MemoryNamed(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  double kib = 0;
  for (std::string word, rest; file >> word >> kib; std::getline(file, rest))
    if (word == name + ":") return kib / (1 << 20);
  return -1;
}

DoctorLine Memory(const Machine& machine) {
  const double free = MemoryNamed("MemAvailable");
  DoctorLine line{.what = "memory", .found = FormatNumber("%.1f", machine.memory_gib) + " GiB"};
  if (free < 0) return line;
  line.found += ", " + FormatNumber("%.1f", free) + " GiB available";
  if (free >= kEnoughGib) return line;
  line.state = DoctorState::kNote;
  line.remedy =
      "a replay and its batches may not fit; end other programs, or lower replay.capacity";
  return line;
}

DoctorLine OpenFiles() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  DoctorLine line{.what = "open files", .found = "no limit"};
  if (limit.rlim_max == RLIM_INFINITY) return line;
  line.found = "at most " + std::to_string(limit.rlim_max);
  if (limit.rlim_max >= kEnoughFiles) return line;
  line.state = DoctorState::kMissing;
  line.remedy =
      "a learner needs 1024; raise it with `ulimit -n 65536` as root, or nofile in "
      "/etc/security/limits.conf";
  return line;
}

/// 0, or errno of a listener at a port of this host's own address.
int TryListening(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int yes = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
                    listen(fd, 1) == 0;
  const int error = free ? 0 : errno;
  close(fd);
  return error;
}

/// `remedy`: where one of the ports is taken.
DoctorLine Ports(const std::string& what, int first, int last, const std::string& remedy) {
  DoctorLine line{.what = what, .found = "127.0.0.1:" + std::to_string(first)};
  if (last > first) line.found += " to " + std::to_string(last);
  for (int port = first; port <= last; ++port) {
    const int error = TryListening(port);
    if (error == 0) continue;
    line.state = DoctorState::kNote;
    line.found += ": " + std::to_string(port) + " cannot be had (" + std::strerror(error) + ')';
    line.remedy = remedy;
    return line;
  }
  line.found += last > first ? " are free" : " is free";
  return line;
}

/// Makes a segment and removes it: /dev/shm may be there and not be writable.
DoctorLine Segments() {
  DoctorLine line{.what = "shared segments", .found = "can be made"};
  const std::string name = "/murmurate-doctor-" + std::to_string(getpid());
  const int fd = shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  const bool made = fd >= 0 && ftruncate(fd, 4096) == 0;
  const int error = errno;
  if (fd >= 0) {
    close(fd);
    shm_unlink(name.c_str());
  }
  if (made) return line;
  line.state = DoctorState::kMissing;
  line.found = std::string("cannot be made: ") + std::strerror(error);
  line.remedy =
      "actors then get their weights over sockets, which is slower; give this user the "
      "right to write to /dev/shm";
  return line;
}

DoctorLine SocketFolder() {
  const auto folder = RuntimeFolder();
  if (folder.ok()) return {.what = "folder of sockets", .found = *folder};
  return {.what = "folder of sockets",
          .state = DoctorState::kMissing,
          .found = folder.status().message(),
          .remedy = "set XDG_RUNTIME_DIR to a folder of this user's"};
}

}  // namespace

std::vector<DoctorLine> MachineLines() {
  const Machine machine = ThisMachine();
  return {Processor(machine),
          Vectors(machine),
          Memory(machine),
          OpenFiles(),
          Ports("ports of a learner", 7420, 7422,
                "`murmurate status` says whether a learner of yours has it; a second learner needs "
                "three ports of its own, with server.listen"),
          Ports("port of the page", 7480, 7480,
                "a page takes the next free port and says which; choose another with page.listen"),
          SocketFolder(),
          Segments()};
}

}  // namespace murmurate
