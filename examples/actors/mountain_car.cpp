// Many agents at once. Eight cars play side by side, and one batched pass chooses for all of them.
//   murmurate serve &   then   build/release/examples/actors/mountain_car [ADDRESS [STEPS]]
#include "client/environments/mountain_car.h"

#include <murmurate/client.h>

#include <iostream>
#include <string>
#include <vector>

namespace mmr = murmurate;

int main(int argument_count, char** arguments) {
  const std::string address = argument_count > 1 ? arguments[1] : "tcp://127.0.0.1:7420";
  const int steps = argument_count > 2 ? std::stoi(arguments[2]) : 200'000;
  auto client = mmr::Client::Connect(address, {.name = "mountain_car",
                                               .pace = mmr::Pace::kCredit,
                                               .without_policy = mmr::WithoutPolicy::kWait});
  if (!client.ok()) {
    std::cerr << client.status() << '\n';  // bad arguments only: a missing learner is waited for
    return 1;
  }
  constexpr int kCars = 8;
  mmr::AgentGroup agents =
      (*client)->NewAgentGroup({.observation = mmr::Box({2}), .action = mmr::Discrete(3)}, kCars);
  std::vector<mmr::MountainCar> cars(kCars);
  std::vector<float> seen(kCars * 2);  // a row for each car
  std::vector<std::int32_t> pushes(kCars);
  for (int step = 0; step < steps && !(*client)->should_stop(); step += kCars) {
    for (int i = 0; i < kCars; ++i) std::ranges::copy(cars[i].numbers(), &seen[i * 2]);
    agents.Act(seen, pushes);
    for (int i = 0; i < kCars; ++i) {
      const mmr::StepOutcome outcome = cars[i].Push(pushes[i]);
      agents[i].Reward(outcome.reward);
      if (!outcome.terminated && !outcome.truncated) continue;
      agents[i].End(outcome.terminated ? mmr::kTerminated : mmr::kTruncated, cars[i].numbers());
      cars[i].Reset();
    }
  }
}
