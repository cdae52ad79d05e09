// What this machine computes with, for `murmurate bench` and `murmurate doctor`.
#pragma once

#include <string>

namespace murmurate {

struct Machine {
  std::string processor;  ///< as it calls itself, "unknown" where it does not say
  int cores = 1;          ///< of the machine, hardware threads counted
  int usable_cores = 1;   ///< that this process may run on
  double core_share = 0;  ///< cores' worth of time that its control group allows; 0: no limit
  std::string vectors;    ///< "AVX-512", "AVX2" or "plain": what its kernels use
  std::string widest;     ///< the same, of what the processor runs
  double memory_gib = 0;
};

Machine ThisMachine();
/// "AMD EPYC 9B14, 2 of 2 cores, AVX-512, 24 GiB"
std::string MachineText(const Machine& machine);

}  // namespace murmurate
