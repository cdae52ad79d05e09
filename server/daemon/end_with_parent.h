// EndWithParent: for a process that belongs to the program that started it (`--end-with PID`).
#pragma once

#include <sys/types.h>

#include "murmurate/status.h"

namespace murmurate {

/// From now on the kernel sends this process a SIGTERM when the thread that started it ends, so also
/// when its parent is killed. Call from the main thread. kInvalidArgument when the parent is another
/// process than `parent`: the right one has died already, or the number is wrong.
Status EndWithParent(pid_t parent);

}  // namespace murmurate
