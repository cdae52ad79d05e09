#include "server/command/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "server/metrics/number_text.h"
#include "shared/compute/kernel_set.h"

namespace murmurate {
namespace {

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

/// Of "200000 100000": so many microseconds of processor time in each so many; "max": no limit.
double CoreShare() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;
  return std::max(0.0, std::strtod(quota.c_str(), nullptr) / period);
}

const char* NameOf(KernelSet set) {
  return set == KernelSet::kAvx512 ? "AVX-512" : set == KernelSet::kAvx2 ? "AVX2" : "plain";
}

KernelSet Widest() {
  for (const KernelSet set : {KernelSet::kAvx512, KernelSet::kAvx2})
    if (ProcessorRuns(set)) return set;
  return KernelSet::kPlain;
}

}  // namespace

Machine ThisMachine() {
  Machine machine;
  machine.processor = ProcessorName();
  machine.cores = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t set;
  CPU_ZERO(&set);
  machine.usable_cores =
      sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : machine.cores;
  machine.core_share = CoreShare();
  machine.vectors = NameOf(BestKernelSet());
  machine.widest = NameOf(Widest());
  machine.memory_gib = static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 30);
  return machine;
}

std::string MachineText(const Machine& machine) {
  return machine.processor + ", " + std::to_string(machine.usable_cores) + " of " +
         std::to_string(machine.cores) + " cores, " + machine.vectors + ", " +
         FormatNumber("%.0f", machine.memory_gib) + " GiB";
}

}  // namespace murmurate
