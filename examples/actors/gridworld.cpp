// Several inputs and a mask. A way through four rooms; walls cannot be walked into.
//   murmurate serve gridworld &   then   build/release/examples/actors/gridworld [ADDRESS [STEPS]]
#include "client/environments/gridworld.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(address, {.name = "gridworld",
                                               .pace = mmr::Pace::kCredit,
                                               .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  mmr::Agent agent = (*client)->NewAgent({.observation = mmr::Dict({{"map", mmr::Image({7, 7, 3})},
                                                                    {"compass", mmr::Box({2})},
                                                                    {"facing", mmr::Discrete(4)}}),
                                          .action = mmr::Discrete(4)});
  mmr::Gridworld game;
  mmr::Action action;
  for (int step = 0; step < steps && !(*client)->should_stop(); ++step) {
    mmr::Observation seen{
        {"map", game.map()}, {"compass", game.compass()}, {"facing", game.facing()}};
    agent.Act(seen.Mask(game.mask()), &action);  // a byte for each choice: 0 is never chosen
    const mmr::StepOutcome outcome = game.Step(action);
    agent.Reward(outcome.reward);
    if (!outcome.terminated && !outcome.truncated) continue;
    agent.End(outcome.terminated ? mmr::kTerminated : mmr::kTruncated, game.observation());
    game.Reset();
  }
}
