// A game that learns while it is played:  murmurate serve &   then   game [ADDRESS]
#include "game.h"

#include <murmurate/client.h>

namespace mmr = murmurate;

int main(int argc, char** argv) {
  auto client = mmr::Client::Connect(argc > 1 ? argv[1] : "tcp://127.0.0.1:7420", {.name = "car"});
  if (!client.ok()) return std::cerr << client.status() << '\n', 1;  // bad arguments only
  auto agent = (*client)->NewAgent({.observation = mmr::Box({4}), .action = mmr::Discrete(3)});
  Game game;
  while (game.goes_on()) {
    const int action = agent.Act(game.observation());  // local inference under the newest weights
    game.Step(action);
    agent.Reward(game.reward());
    if (game.won()) agent.End(mmr::kTerminated), game.Reset();
    if (game.timed_out()) agent.End(mmr::kTruncated, game.observation()), game.Reset();
  }
}
