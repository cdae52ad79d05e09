// The version of the executable and what it was built with.
#pragma once

#include <string>

namespace murmurate {

std::string VersionLine();  ///< "murmurate 0.1.0"
std::string VersionJson();

}  // namespace murmurate
