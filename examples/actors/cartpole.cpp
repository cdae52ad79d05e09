// The basic loop. CartPole shows four numbers and is pushed to the left or to the right.
//   murmurate serve &   then   build/release/examples/actors/cartpole [ADDRESS [STEPS]]
#include "client/environments/cartpole.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(address, {.name = "cartpole",
                                               .pace = mmr::Pace::kCredit,
                                               .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  mmr::Agent agent =
      (*client)->NewAgent({.observation = mmr::Box({4}), .action = mmr::Discrete(2)});
  mmr::CartPole game;
  for (int step = 0; step < steps && !(*client)->should_stop(); ++step) {
    const int action = agent.Act(game.numbers());
    const mmr::StepOutcome outcome = game.Push(action);
    agent.Reward(outcome.reward);
    if (outcome.terminated) {  // it fell: nothing follows
      agent.End(mmr::kTerminated);
      game.Reset();
    } else if (outcome.truncated) {  // only the clock ran out: life would have gone on from here
      agent.End(mmr::kTruncated, game.numbers());
      game.Reset();
    }
  }
}
