// The command line: arguments to a subcommand, errors to one line and an exit code.
#pragma once

namespace murmurate {

int RunCommandLine(int argument_count, const char* const* arguments);

}  // namespace murmurate
