// The commands of the program, and whether it would take a command line, without running it.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

/// "" when `murmurate` with these arguments is one that it takes: its parser takes them, the config
/// that they name loads with their --set, and what `set` changes is a key. Else what is wrong.
/// Paths are those of the working folder.
std::string FaultOfArguments(const std::vector<std::string>& arguments);

/// "train", "serve", ...: the words that may follow `murmurate`.
std::vector<std::string> CommandNames();

}  // namespace murmurate
