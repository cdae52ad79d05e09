// HostMutation: one thing that a HostDevice does wrongly on purpose, so that scripts/device-mutations.py
// can see that a test notices. The environment's MURMURATE_DEVICE_MUTATION names it:
//
//   event ADDRESS ADDRESS
//                   a Record or WaitFor is left out: the one that returns to the first ADDRESS of the
//                   program, in a call that returns to the second. The engine is compiled so that
//                   every call returns to where it stands (tests/device/CMakeLists.txt)
//   control NAME    a number of TrainingControl that the host writes stays what it was at the first pass
//   list FILE       nothing is wrong; each place that could be named above is added to FILE, a line each
#pragma once

#include <cstddef>
#include <string>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

class HostMutation {
 public:
  static HostMutation OfEnvironment();

  /// Whether the Record or WaitFor that returns to `caller` is left out.
  bool LeavesOut(const void* caller);
  /// The kernel is about to run; memory of the device is open.
  void BeforeKernel(KernelId kernel, const void* call);

 private:
  /// Adds the line to the file of `list`, once a program.
  void List(const std::string& line) const;

  std::string kind_, what_;
  std::string first_;  ///< the number's bytes at the first pass
};

}  // namespace murmurate
