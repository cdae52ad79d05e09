// In-process training: agents play CartPole in this thread, under the parameters of `lag` versions
// ago, and a Learner trains on what they played. No sockets, no clock: what is left is the
// algorithm.
//
//   Policy (version v - lag) --TrajectoryView--> TrainingBatch --> Learner --> Snapshot v + 1
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "client/environments/cartpole.h"
#include "server/learn/learner.h"
#include "shared/core/random.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

struct InProcessSettings {
  AlgorithmSettings algorithm;
  std::vector<Layer> trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}};
  bool separate_value = true;
  bool normalize_observation = false;
  int agents = 8;
  int lag = 0;                ///< versions between the learner's parameters and those played with
  double reward_times = 1.0;  ///< rewards reach the learner as many times as large; returns do not
  double stop_at_return = 475.0;
  std::uint64_t max_steps = 300'000;
};

/// PPO: 8 agents x 64 steps, 4 epochs, minibatch 64.
InProcessSettings CartPoleSettings();
/// 8 agents x 32 steps at a rate of 1e-3. The longer batches and higher rates of
/// examples/configs/cartpole-impala.toml solve it as soon, but not when they are 16 batches late.
InProcessSettings CartPoleImpalaSettings();
/// Those of examples/configs/cartpole-a2c.toml.
InProcessSettings CartPoleA2cSettings();

struct TrainingOutcome {
  bool solved = false;      ///< the last 100 finished episodes returned `stop_at_return` on average
  std::uint64_t steps = 0;  ///< environment steps until then, or until the budget was spent
  double learn_seconds = 0, play_seconds = 0;  ///< processor time
  std::shared_ptr<const Snapshot> snapshot;    ///< the parameters at the end
  ModelSpec spec;
  LearnReport last;  ///< of the last batch
};

TrainingOutcome TrainInProcess(const InProcessSettings& settings, std::uint64_t seed);

/// Mean return of greedy play from seeds that training never uses.
double EvaluateGreedy(const TrainingOutcome& outcome, int episodes, std::uint64_t seed);

/// One agent: an environment and the trajectory it is filling.
class LaggedAgent {
 public:
  LaggedAgent(std::uint32_t index, const InProcessSettings& settings, std::uint64_t seed);
  std::span<const float> observation() const { return environment_->numbers(); }
  /// Takes one step from the logits that `observation()` gave.
  void Step(std::span<const float> logits);
  /// The trajectory of the last T steps; valid until the next Step.
  TrajectoryView Collect(std::uint64_t version);

 private:
  void Clear();

  const std::uint32_t index_;
  const double reward_times_;
  Random random_;
  std::unique_ptr<CartPole> environment_;
  bool first_ = true;
  EpisodeRecord episode_;
  std::uint64_t steps_ = 0;
  std::vector<float> observations_, finals_, log_probs_, rewards_;
  std::vector<std::int32_t> actions_;
  std::vector<std::uint8_t> flags_;
  std::vector<EpisodeRecord> episodes_;
  bool taken_ = false;
};

/// `agents` of them, playing batches.
class LaggedActors {
 public:
  LaggedActors(const ModelSpec& spec, const InProcessSettings& settings, std::uint64_t seed);
  /// Keeps `snapshot` for the time it is `lag` versions old.
  void Receive(const Snapshot& snapshot);
  /// T steps of each agent under the oldest snapshot kept.
  void Play(TrainingBatch* batch);

 private:
  struct Version {
    std::uint64_t number;
    Policy policy;
  };
  const ParameterLayout layout_;
  const ModelSpec spec_;
  const int length_, lag_;
  std::vector<LaggedAgent> agents_;
  std::deque<Version> versions_;  ///< oldest first, at most lag + 1
  std::vector<float> observations_, logits_;
  AlignedFloats scratch_;
};

}  // namespace murmurate
