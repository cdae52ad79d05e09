// Pixels. A ball falls down a board of 10 x 5 bytes, and a paddle should be under it.
//   murmurate serve catch &   then   build/release/examples/actors/catch [ADDRESS [STEPS]]
#include "client/environments/catch.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(
      address,
      {.name = "catch", .pace = mmr::Pace::kCredit, .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  mmr::Agent agent =  // {height, width, channels}; the learner puts a convolution before it
      (*client)->NewAgent({.observation = mmr::Image({10, 5, 1}), .action = mmr::Discrete(3)});
  mmr::Catch game;
  mmr::Action action;  // one object for all steps: nothing is allocated
  for (int step = 0; step < steps && !(*client)->should_stop(); ++step) {
    agent.Act(game.pixels(), &action);  // read in place, once
    const mmr::StepOutcome outcome = game.Step(action);
    agent.Reward(outcome.reward);
    if (!outcome.terminated) continue;
    agent.Report("caught", outcome.reward > 0);  // its share: reports.csv of the run
    agent.End(mmr::kTerminated);
    game.Reset();
  }
}
