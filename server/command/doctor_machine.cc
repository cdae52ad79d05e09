// What `murmurate doctor` says of the machine: processor, memory, ports, limits and folders.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "server/command/doctor_lines.h"
#include "server/command/machine.h"
#include "server/ingest/ingest_settings.h"
#include "server/metrics/number_text.h"
#include "server/page/page_settings.h"
#include "shared/core/check.h"
#include "shared/transport/address.h"
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

/// Of the three that a learner takes where server.listen does not say.
int FirstLearnerPort() {
  const auto address = ParseAddress(ServerSettings().listen.front());
  MURMURATE_CHECK(address.ok() && !address->ipc, "the first default of server.listen has a port");
  return address->port;
}

int PagePort() {
  const auto address = ParsePageAddress(kPageAddress);
  MURMURATE_CHECK(address.ok(), "the default address of the page has a port");
  return address->port;
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
  const int learner_port = FirstLearnerPort(), page_port = PagePort();
  return {Processor(machine),
          Vectors(machine),
          Memory(machine),
          OpenFiles(),
          Ports("ports of a learner", learner_port, learner_port + 2,
                "`murmurate status` says whether a learner of yours has it; a second learner needs "
                "three ports of its own, with server.listen"),
          Ports("port of the page", page_port, page_port,
                "a page takes the next free port and says which; choose another with page.listen"),
          SocketFolder()};
}

}  // namespace murmurate
