// Replay training in one thread: agents play a built-in game under the newest version, what they
// played goes into the algorithm's store, and a Learner learns what the store gives. No sockets, no
// clock, so a seed gives the same run each time.
//
//   Policy (newest) --TrajectoryView--> TrainingBatch --> store --> Learner --> Snapshot
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/environments/environment.h"
#include "server/learn/learner.h"

namespace murmurate {

struct ReplayRun {
  std::string environment = "pendulum";  ///< whose observations are numbers, or one choice
  EnvironmentOptions options = {};
  AlgorithmSettings algorithm;
  std::vector<Layer> trunk = {{64, Activation::kRelu}, {64, Activation::kRelu}};
  bool normalize_observation = false;
  int agents = 1;
  std::uint64_t steps = 20'000;
  std::uint64_t evaluate_every = 2'000;
  int evaluation_episodes = 20;
};

/// The settings that the algorithm of this name has where a config says nothing of them, for batches
/// of `agents` times `length` steps.
AlgorithmSettings UsualSettings(const std::string& name, int agents, int length);

struct ReplayScore {
  std::uint64_t steps = 0, updates = 0;
  double mean_return = 0;    ///< of play without exploration, from seeds that training never uses
  double last_output = 0;    ///< the largest of the policy at the last step of that play
  double learn_seconds = 0;  ///< processor time so far
  LearnReport last;          ///< of an update
};

std::vector<ReplayScore> TrainFromReplay(const ReplayRun& run, std::uint64_t seed);

}  // namespace murmurate
