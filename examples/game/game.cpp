// A game that learns while it is played:  murmurate serve &   then   game [ADDRESS [ROUNDS]]
#include "game.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int rounds = argument_count > 2 ? std::stoi(arguments[2]) : 3000;
  auto client = mmr::Client::Connect(address, {.name = "game-7"});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is no error
    return 1;
  }
  mmr::Agent agent = (*client)->NewAgent(
      {.observation = mmr::Box({Game::kObservations}), .action = mmr::Discrete(Game::kActions)});
  Game game;
  int wins = 0;
  for (int round = 1; round <= rounds;) {
    const int action = agent.Act(game.observation());
    game.Step(action);
    agent.Reward(game.reward());
    if (!game.won() && !game.timed_out()) continue;
    wins += game.won();
    agent.Report("won", game.won());  // to reports.csv of the run
    if (game.won()) agent.End(mmr::kTerminated);
    if (game.timed_out()) agent.End(mmr::kTruncated, game.observation());
    game.Reset();
    if (round++ % 200 == 0) {
      std::cout << "round " << round - 1 << ": the flag was reached " << wins
                << " times of 200, learner: " << mmr::ToString((*client)->State().state)
                << std::endl;
      wins = 0;
    }
  }
}
