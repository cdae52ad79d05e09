// Small batches for the tests of this room.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/batch_planner.h"
#include "server/learn/learner.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

inline PolicyAndValue ExampleSpec(bool normalize_observation = false) {
  return {.spaces = {Box({3}), Discrete(2)},
          .trunk = {{16, Activation::kTanh}},
          .separate_value = true,
          .normalize_observation = normalize_observation};
}

inline AlgorithmSettings ExamplePpo() {
  AlgorithmSettings settings;
  settings.trajectory_length = 8;
  settings.batch_steps = 32;
  settings.minibatch = 10;
  settings.epochs = 3;
  settings.learning_rate = 1e-2;
  settings.max_staleness = 2;
  return settings;
}

/// A trajectory of random numbers with, where it is long enough, a termination and a truncation
/// inside.
struct ExampleTrajectory {
  ExampleTrajectory(std::uint32_t agent_index, std::uint64_t version_number, int steps)
      : agent(agent_index), version(version_number) {
    Random random(DeriveSeed(77, agent_index));
    const auto fill = [&](std::vector<float>& column, int count) {
      for (int i = 0; i < count; ++i) column.push_back(2.0f * random.Uniform() - 1.0f);
    };
    fill(observation, 3 * steps);
    fill(reward, steps);
    fill(next, 3);
    for (int i = 0; i < steps; ++i) {
      action.push_back(static_cast<std::int32_t>(random.UniformInt(2)));
      log_prob.push_back(std::log(0.4f + 0.2f * random.Uniform()));
      flags.push_back(i == 0 || i == 3 || i == 6 ? kFirst : 0);
    }
    if (steps > 3) flags[2] |= kTerminatedFlag;
    if (steps > 6) {
      flags[5] |= kTruncatedFlag;
      fill(final, 3);
    }
    episodes.assign(flags.size() / 4, {.raw_return = 3.0, .length = 3, .mode = 0});
  }

  TrajectoryView view() const {
    TrajectoryView view;
    view.agent = agent;
    view.first_step = 100 * agent;
    view.version = version;
    view.steps = static_cast<int>(action.size());
    view.observation = RowsOf(observation);
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    view.final_observation = RowsOf(final);
    view.next_observation = RowsOf(next);
    view.episodes = episodes;
    return view;
  }

  std::uint32_t agent;
  std::uint64_t version;
  std::vector<float> observation, log_prob, reward, final, next;
  std::vector<std::int32_t> action;
  std::vector<std::uint8_t> flags;
  std::vector<EpisodeRecord> episodes;
};

/// An algorithm with plans of its own, run as a trainer runs it.
class PlannedAlgorithm {
 public:
  PlannedAlgorithm(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed)
      : kind_(*settings.kind),
        rates_(Rates::Of(settings)),
        planner_(spec, settings, seed),
        algorithm_(kind_.make(spec, settings)) {}

  void Prepare(std::span<const float> parameters, const TrainingBatch& batch) {
    PrepareWith(planner_.Plan(batch, rates_, 0), parameters, batch);
  }
  void PrepareWith(const BatchPlan& plan, std::span<const float> parameters,
                   const TrainingBatch& batch) {
    plan_ = &plan;
    algorithm_->Prepare(parameters, batch, plan);
    begun_ = 0;
  }
  bool NextGradient(std::span<const float> parameters, std::span<float> gradient) {
    return begun_ < plan_->updates.size() && algorithm_->Gradient(begun_++, parameters, gradient);
  }
  void Score(std::span<const float> parameters) {
    while (begun_ < plan_->updates.size()) algorithm_->Score(begun_++, parameters);
  }
  LearnReport Report() const {
    LearnReport report;
    ReportMetrics(kind_, algorithm_->sums(), &report);
    return report;
  }
  const ParameterLayout& layout() const { return algorithm_->layout(); }

 private:
  const AlgorithmKind& kind_;
  const Rates rates_;
  BatchPlanner planner_;
  const std::unique_ptr<Algorithm> algorithm_;
  const BatchPlan* plan_ = nullptr;
  std::size_t begun_ = 0;
};

inline TrainingBatch EmptyBatch() {
  return TrainingBatch(TrajectoryLayout(ExampleSpec().spaces, ExamplePpo().trajectory_length), 4);
}

inline TrainingBatch MakeBatch(const std::vector<ExampleTrajectory>& trajectories) {
  TrainingBatch batch = EmptyBatch();
  for (const ExampleTrajectory& trajectory : trajectories) batch.Add(trajectory.view());
  return batch;
}

/// Four trajectories of the given versions, eight steps each.
inline TrainingBatch FullBatch(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  return MakeBatch({{0, a, 8}, {1, b, 8}, {2, c, 8}, {3, d, 8}});
}

inline std::vector<float> ParametersOf(const Learner& learner) {
  const auto snapshot = learner.MakeSnapshot();
  return {snapshot->parameters.begin(), snapshot->parameters.end()};
}

}  // namespace murmurate
