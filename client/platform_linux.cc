#include <time.h>
#include <unistd.h>

#include "client/platform.h"

namespace murmurate {

std::uint32_t ProcessId() { return static_cast<std::uint32_t>(getpid()); }

void Nap(int microseconds) {
  const timespec duration{0, microseconds * 1000L};
  nanosleep(&duration, nullptr);
}

}  // namespace murmurate
