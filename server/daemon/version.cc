#include "server/daemon/version.h"

#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "shared/wire/protocol.h"

namespace murmurate {

std::string VersionLine() { return "murmurate " MURMURATE_VERSION; }

std::string VersionJson() {
  utsname system{};
  uname(&system);
  const nlohmann::json version{
      {"murmurate", MURMURATE_VERSION},
      {"protocol", std::to_string(wire::kMajor) + '.' + std::to_string(wire::kMinor)},
      {"compiler", __VERSION__},
      {"system", std::string(system.sysname) + ' ' + system.release + ' ' + system.machine}};
  return version.dump(2) + '\n';
}

}  // namespace murmurate
