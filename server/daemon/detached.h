// Detached: a process that goes on when this one has ended: a copy of this executable in a session
// of its own.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// Starts this executable with `arguments` (the program's name is not among them); what it prints
/// becomes the file `output`. kResource: it cannot be started.
Result<pid_t> StartDetached(const std::vector<std::string>& arguments, const std::string& output);

/// The exit code of a child that has ended, 128 + N where signal N ended it; empty while it runs, and
/// after the code was given once.
std::optional<int> ExitCodeOf(pid_t pid);

}  // namespace murmurate
