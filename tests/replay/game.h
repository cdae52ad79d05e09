// Game: agents that play beside each other, and send a trajectory each for every batch.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "server/experience/training_batch.h"
#include "tests/replay/played_agent.h"

namespace murmurate {

class Game {
 public:
  explicit Game(int agents = 2) {
    for (int i = 0; i < agents; ++i) agents_.emplace_back(static_cast<std::uint32_t>(i));
  }
  std::unique_ptr<TrainingBatch> Batch(const TrajectoryLayout& layout, std::string_view steps,
                                       bool backwards = false) {
    std::vector<PlayedTrajectory> sent;
    for (PlayedAgent& agent : agents_) sent.push_back(agent.Play(steps));
    auto batch = std::make_unique<TrainingBatch>(layout, static_cast<int>(agents_.size()));
    if (backwards) std::ranges::reverse(sent);
    for (PlayedTrajectory& trajectory : sent) EXPECT_TRUE(batch->Add(trajectory.View()));
    const EpisodeRecord episode{.raw_return = 7};
    batch->AddEpisodes({&episode, 1});
    return batch;
  }
  /// An agent plays without sending.
  void Lose(std::uint32_t agent, std::string_view steps) { agents_[agent].Lose(steps); }
  const PlayedAgent& agent(std::uint32_t number) const { return agents_[number]; }

 private:
  std::vector<PlayedAgent> agents_;
};

/// What a learner reads of a batch of samples.
inline std::vector<float> Numbers(const TrainingBatch& batch) {
  std::vector<float> numbers;
  const auto put = [&](std::span<const float> column, std::size_t i, std::size_t width) {
    const auto part = column.subspan(i * width, width);
    numbers.insert(numbers.end(), part.begin(), part.end());
  };
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    const BatchTrajectory& sample = batch.trajectories[slot];
    numbers.insert(numbers.end(),
                   {static_cast<float>(sample.agent), static_cast<float>(sample.first_step),
                    static_cast<float>(sample.steps)});
    put(batch.frames0, slot, 6);
    put(batch.next_observation, slot, 2);
    put(batch.state0, slot, static_cast<std::size_t>(batch.layout.state_floats));
    for (int step = 0; step < sample.steps; ++step) {
      const std::size_t row =
          slot * static_cast<std::size_t>(batch.length) + static_cast<std::size_t>(step);
      put(batch.observation, row, 2);
      put(batch.reward, row, 1);
      put(batch.weight, row, 1);
    }
  }
  numbers.insert(numbers.end(), batch.final_row.begin(), batch.final_row.end());
  return numbers;
}

}  // namespace murmurate
