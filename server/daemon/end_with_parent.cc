#include "server/daemon/end_with_parent.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>

namespace murmurate {

Status EndWithParent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent) return {};
  return InvalidArgument("--end-with " + std::to_string(parent) +
                         ": the parent of this process is " + std::to_string(getppid()) +
                         "; give the number of the program that starts murmurate, which must "
                         "still run");
}

}  // namespace murmurate
