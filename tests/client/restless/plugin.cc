// The C++ client inside a plugin of a host: what it holds is closed by the plugin's own destructors
// when the host throws it out.
#include "tests/client/restless/game.h"

namespace {
std::unique_ptr<murmurate::RestlessGame> game;
}

extern "C" __attribute__((visibility("default"))) void plugin_play(const char* address,
                                                                   const char* name,
                                                                   int milliseconds) {
  game = murmurate::NewCppGame(address, name);
  murmurate::PlayFor(*game, milliseconds);
}
