#include "server/measure/bench_address.h"

#include "shared/transport/socket.h"

namespace murmurate {

Result<std::string> BenchAddress(const std::string& name) {
  const auto folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  const std::string address = "ipc://" + *folder + name;
  if (!SisterAddresses(address).ok())
    return ResourceError("the path of the folder of sockets, " + *folder +
                         ", is too long; set XDG_RUNTIME_DIR to a shorter one");
  return address;
}

}  // namespace murmurate
