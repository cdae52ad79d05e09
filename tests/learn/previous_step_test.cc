// The previous action and reward from an agent's Act to what is learned: agents of the client play
// in this thread, and a Learner trains on the blocks that they record.
#include "shared/model/previous_step.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>

#include "server/learn/learner.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

constexpr int kAgents = 16, kLength = 32, kRows = kAgents * kLength;

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.trajectory_length = kLength;
  settings.batch_steps = kRows;
  settings.minibatch = kRows / 4;
  settings.epochs = 4;
  settings.learning_rate = 1e-2;
  settings.entropy = 0.01;
  return settings;
}

/// Slot machines of which one pays, another one in each episode of eight pulls; the player is shown
/// nothing. Who sees what it did and got finds it by the third pull; who does not, never.
class Arms {
 public:
  static constexpr int kArms = 3, kPulls = 8;
  explicit Arms(std::uint64_t seed) : random_(seed) {}

  void Step(BenchAgent& agent) {
    if (pulls_ == 0) good_ = static_cast<int>(random_.UniformInt(kArms));
    const float shown = 1;
    agent.observation().Observe(std::span(&shown, 1));
    agent.Step();
    const bool paid = agent.action().choice() == good_;
    agent.Reward(paid);
    total += paid;
    if (++pulls_ < kPulls) return;
    pulls_ = 0;
    agent.End(kTerminated);
  }
  int total = 0;

 private:
  Random random_;
  int pulls_ = 0, good_ = 0;
};

class Players {
 public:
  Players(PreviousInputs previous, const Initialization& beginning, std::uint64_t seed)
      : spec_(SpecWith(previous)),
        learner_(spec_, Settings(), seed, beginning),
        bench_(0, {}, spec_),
        batch_(TrajectoryLayout(spec_, kLength), kAgents) {
    for (int i = 0; i < kAgents; ++i) {
      agents_.push_back(std::make_shared<BenchAgent>(bench_.model, i, 0, 1));
      auto buffers = BuffersOf(bench_.policies, 1, kLength);
      buffers->reseed = true;
      buffers->seed = DeriveSeed(seed, 100 + i);
      rings_.push_back(buffers->ring);
      agents_.back()->shared().Fit(std::move(buffers));
      games_.emplace_back(DeriveSeed(seed, 200 + i));
    }
  }

  /// Fills the batch under the newest version; the share of pulls that paid.
  double Play() {
    const auto snapshot = learner_.MakeSnapshot();
    const ParameterLayout& layout = learner_.layout();
    const std::span<const float> flat = snapshot->parameters;
    bench_.policies->Publish({7, snapshot->version}, {},
                             flat.subspan(layout.published.offset, layout.published.count),
                             flat.subspan(layout.statistics.offset, layout.statistics.count));
    batch_.Clear();
    int paid = 0;
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      games_[i].total = 0;
      for (int step = 0; step < kLength; ++step) games_[i].Step(*agents_[i]);
      paid += games_[i].total;
      bench_.ring = rings_[i];
      auto received = bench_.PopTrajectory();
      received.view.agent = static_cast<std::uint32_t>(i);
      EXPECT_TRUE(batch_.Add(received.view));
      bench_.ring->Release(received.block);
    }
    return static_cast<double>(paid) / kRows;
  }
  LearnReport Learn() { return learner_.Learn(batch_, steps_ += kRows); }
  TrainingBatch& batch() { return batch_; }

 private:
  static ModelSpec SpecWith(PreviousInputs previous) {
    PolicyAndValue spec{.spaces = {Box({1}), Discrete(Arms::kArms)},
                        .trunk = {*Layer::Parse("lstm 16")},
                        .separate_value = false,
                        .normalize_observation = true};
    spec.previous = previous;
    return spec;
  }

  const ModelSpec spec_;
  Learner learner_;
  Workbench bench_;
  TrainingBatch batch_;
  std::vector<std::shared_ptr<BenchAgent>> agents_;
  std::vector<std::shared_ptr<TrajectoryRing>> rings_;
  std::deque<Arms> games_;
  std::uint64_t steps_ = 0;
};

TEST(PreviousStepLearned, TheLearnersPolicyIsThatWhichPlayed) {
  Initialization decided;
  decided.policy_gain = 5.0;
  for (const bool spoiled : {false, true}) {
    Players players({.action = true, .reward = true}, decided, 1);
    for (int batch = 0; batch < 3; ++batch) {
      players.Play();
      if (spoiled) {  // what the networks see is without the parts
        const std::size_t words = players.batch().layout.row_words();
        for (int row = 0; row < kRows; ++row) {
          players.batch().observation[row * words + 1] = 0;
          players.batch().observation[row * words + 2] = 0;
        }
      }
      const double lag_kl = players.Learn().lag_kl;
      if (spoiled) {
        EXPECT_GT(lag_kl, 1e-3);
      } else {
        EXPECT_LT(lag_kl, 1e-7) << "the ratio of the probabilities is 1 but for rounding";
      }
    }
  }
}

double PaidAfterTraining(PreviousInputs previous, std::uint64_t seed) {
  Players players(previous, {}, seed);
  for (int batch = 0; batch < 60; ++batch) players.Play(), players.Learn();
  double paid = 0;
  for (int batch = 0; batch < 5; ++batch) paid += players.Play() / 5;
  return paid;
}

// Of eight pulls seven pay who tries each machine once and stays with the one that paid.
TEST(PreviousStepLearned, WhatPaysIsFoundOutWithinAnEpisode) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_GT(PaidAfterTraining({.action = true, .reward = true}, seed), 0.8) << seed;
    EXPECT_LT(PaidAfterTraining({}, seed), 0.45) << seed;
  }
}

}  // namespace
}  // namespace murmurate
