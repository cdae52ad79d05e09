// A small trajectory made by hand, for tests: T = 4, D = 2, two choices.
#pragma once

#include <vector>

#include "shared/trajectory/trajectory.h"

namespace murmurate {

struct SampleTrajectory {
  std::vector<float> observation, log_prob, reward, final_observation, next_observation;
  std::vector<std::int32_t> action;
  std::vector<std::uint8_t> flags;
  std::vector<EpisodeRecord> episodes;
  std::uint32_t agent = 0;
  std::uint64_t first_step = 0;

  /// Step i of the trajectory observes {base + i, -(base + i)}; nothing ends.
  SampleTrajectory(int steps, float base) {
    for (int i = 0; i < steps; ++i) {
      const float x = base + static_cast<float>(i);
      observation.insert(observation.end(), {x, -x});
      action.push_back(i % 2);
      log_prob.push_back(-0.5f);
      reward.push_back(x * 10);
      flags.push_back(0);
    }
    next_observation = {base + static_cast<float>(steps), -(base + static_cast<float>(steps))};
  }

  TrajectoryView View() const {
    TrajectoryView view;
    view.agent = agent;
    view.first_step = first_step;
    view.version = 1;
    view.steps = static_cast<int>(action.size());
    view.observation = RowsOf(observation);
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    view.final_observation = RowsOf(final_observation);
    view.next_observation = RowsOf(next_observation);
    view.episodes = episodes;
    return view;
  }
};

inline Spaces SampleSpaces() { return {Box({2}), Discrete(2)}; }
inline TrajectoryLayout SampleLayout() { return TrajectoryLayout(SampleSpaces(), 4); }

}  // namespace murmurate
