// A game that knows nothing of murmurate but the six functions of its plug-in:
//   host PLUGIN.so ADDRESS ROUNDS
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "../game/game.h"

int main(int argument_count, char** arguments) {
  if (argument_count != 4) return std::fputs("usage: host PLUGIN.so ADDRESS ROUNDS\n", stderr), 2;
  void* const plugin = dlopen(arguments[1], RTLD_NOW);
  if (plugin == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), 1;
  const auto open = reinterpret_cast<int (*)(const char*, int, int)>(dlsym(plugin, "plugin_open"));
  const auto act = reinterpret_cast<int (*)(const float*, int)>(dlsym(plugin, "plugin_act"));
  const auto reward = reinterpret_cast<void (*)(float)>(dlsym(plugin, "plugin_reward"));
  const auto won = reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_won"));
  const auto timed_out =
      reinterpret_cast<void (*)(const float*, int)>(dlsym(plugin, "plugin_timed_out"));
  const auto close = reinterpret_cast<void (*)()>(dlsym(plugin, "plugin_close"));
  if (open(arguments[2], Game::kObservations, Game::kActions) != 0) return 1;
  Game game;
  for (int left = std::atoi(arguments[3]); left > 0;) {
    game.Step(act(game.observation().data(), Game::kObservations));
    reward(game.reward());
    if (!game.won() && !game.timed_out()) continue;
    if (game.won()) won();
    if (game.timed_out()) timed_out(game.observation().data(), Game::kObservations);
    game.Reset();
    --left;
  }
  close();
}
