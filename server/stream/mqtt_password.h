// Reads the broker's password from a file of its own or an environment variable, never from the
// config itself, which people show each other. No message here holds any of it.
#pragma once

#include <string>

#include "murmurate/status.h"

namespace murmurate {

/// The first line of the file, and only that: what stands on a second line is refused, as is a file
/// that is empty or larger than MQTT's 65,535 bytes.
Result<std::string> ReadPasswordFile(const std::string& path);
/// The whole value of the variable.
Result<std::string> ReadPasswordVariable(const std::string& name);

/// A secret lies in a plain file that only its owner can read or write (mode 600): otherwise
/// every program of the group, or of the machine, may log in as us. `what` names it in the message.
Status CheckSecretFile(const std::string& what, const std::string& path);

}  // namespace murmurate
