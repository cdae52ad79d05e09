// Numbers as actions. A pendulum is swung up by a torque between -2 and 2.
//   murmurate serve &   then   build/release/examples/actors/pendulum [ADDRESS [STEPS]]
#include "client/environments/pendulum.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(address, {.name = "pendulum",
                                               .pace = mmr::Pace::kCredit,
                                               .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  mmr::Agent agent =  // with bounds, the game never gets a number outside
      (*client)->NewAgent({.observation = mmr::Box({3}), .action = mmr::Box({1}, -2, 2)});
  mmr::Pendulum game;
  float torque = 0;
  for (int step = 0; step < steps && !(*client)->should_stop(); ++step) {
    agent.ActContinuous(game.numbers(), std::span(&torque, 1));
    const mmr::StepOutcome outcome = game.Turn(torque);
    agent.Reward(outcome.reward);
    if (!outcome.truncated) continue;  // it is never over, only cut after 200 steps
    agent.End(mmr::kTruncated, game.numbers());
    game.Reset();
  }
}
