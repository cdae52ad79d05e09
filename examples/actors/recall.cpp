// Memory. A cue is shown once and asked for ten steps later. The actor has nothing to do for it:
// the learner says that the model recurs, and the agent keeps its state until End.
//   murmurate serve recall &   then   build/release/examples/actors/recall [ADDRESS [STEPS]]
#include "client/environments/recall.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(
      address,
      {.name = "recall", .pace = mmr::Pace::kCredit, .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  mmr::Agent agent =
      (*client)->NewAgent({.observation = mmr::Discrete(9), .action = mmr::Discrete(4)});
  mmr::Recall game;
  mmr::Action answer;
  for (int step = 0; step < steps && !(*client)->should_stop(); ++step) {
    agent.Act(game.observation(), &answer);  // one category of nine
    const mmr::StepOutcome outcome = game.Step(answer);
    agent.Reward(outcome.reward);
    if (!outcome.terminated) continue;
    agent.Report("right", outcome.reward);  // its share: reports.csv of the run
    agent.End(mmr::kTerminated);            // and the state is forgotten
    game.Reset();
  }
}
