// What was not the agent's doing. Ten arms; now and then a stranger pulls one, or a pull is undone.
//   murmurate serve &   then   build/release/examples/actors/bandit [ADDRESS [STEPS]]
#include "client/environments/bandit.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(
      address,
      {.name = "bandit", .pace = mmr::Pace::kCredit, .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  mmr::Agent agent =
      (*client)->NewAgent({.observation = mmr::Box({1}), .action = mmr::Discrete(10)});
  mmr::Bandit game;
  const float nothing_to_see[] = {1.0f};
  for (int step = 0; step < steps && !(*client)->should_stop(); ++step) {
    int arm = agent.Act(nothing_to_see);
    if (step % 10 == 9) agent.Took(arm = step / 10 % 10);  // the stranger: what really happened
    agent.Reward(game.Step(arm).reward);
    if (step % 25 == 24)
      agent.Discard();  // the player loads an older game: as if this pull had never been
    else
      agent.End(mmr::kTerminated);
  }
}
