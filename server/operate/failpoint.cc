#include "server/operate/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>

namespace murmurate {
namespace {

struct Armed {
  std::string name;
  std::atomic<long> left{1};
};

/// Null when nothing is armed.
Armed* FromEnvironment() {
  const char* text = std::getenv("MURMURATE_FAILPOINT");
  if (text == nullptr || *text == '\0') return nullptr;
  static Armed armed;
  armed.name = text;
  if (const auto colon = armed.name.find(':'); colon != std::string::npos) {
    armed.left = std::atol(armed.name.c_str() + colon + 1);
    armed.name.resize(colon);
  }
  return &armed;
}

}  // namespace

void Failpoint(const char* name) {
  static Armed* const armed = FromEnvironment();
  if (armed == nullptr || armed->name != name) [[likely]]
    return;
  if (armed->left.fetch_sub(1) == 1) kill(getpid(), SIGKILL);
}

}  // namespace murmurate
