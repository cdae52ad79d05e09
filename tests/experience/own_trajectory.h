// OwnTrajectory: a trajectory with memory of its own, column by column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shared/trajectory/trajectory.h"

namespace murmurate {

struct OwnTrajectory {
  std::vector<std::byte> observation, final_observation, next_observation, frames0;
  std::vector<std::int32_t> action;
  std::vector<float> log_prob, reward, state0;
  std::vector<std::uint8_t> flags, mask;
  std::uint32_t agent = 0;

  TrajectoryView View() const {
    TrajectoryView view;
    view.agent = agent;
    view.version = 1;
    view.steps = static_cast<int>(flags.size());
    view.observation = observation;
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    view.mask = mask;
    view.state0 = state0;
    view.frames0 = frames0;
    view.final_observation = final_observation;
    view.next_observation = next_observation;
    return view;
  }
};

}  // namespace murmurate
