// DQN: returns of n steps, masks, the gradient against finite differences of the loss as its
// definition says, and what becomes of targets, rewards and statistics around it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/choice_values.h"
#include "server/learn/host_trainer.h"
#include "server/learn/replay_planner.h"
#include "server/learn/window_return.h"
#include "server/network/actor_critic.h"
#include "server/network/single_network.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed("dqn");
  settings.gamma = 0.9;
  settings.trajectory_length = 8;
  settings.batch_steps = 16;
  settings.normalize_reward = false;
  settings.replay.minibatch = 3;
  settings.n_step = 3;
  settings.target_every = 2;
  return settings;
}

ModelSpec Spec(bool normalize = false) {
  return *AlgorithmNamed("dqn")->networks(ExampleSpec(normalize));
}

/// Eight steps with a termination after the third and a truncation after the sixth.
class ReturnsTest : public testing::Test {
 protected:
  ReturnsTest() : batch_(TrajectoryLayout(Spec(), 8), 2) {
    EXPECT_TRUE(batch_.Add(trajectory_.view()));
  }
  double Reward(int step) const { return double{trajectory_.reward[step]}; }
  WindowReturn At(int step, int n) const { return ReturnOf(batch_, step, n, 0.9); }

  const ExampleTrajectory trajectory_{1, 1, 8};
  TrainingBatch batch_;
};

TEST_F(ReturnsTest, EndAtATerminationWithoutAValue) {
  const WindowReturn found = At(1, 3);
  EXPECT_DOUBLE_EQ(found.reward, Reward(1) + 0.9 * Reward(2));
  EXPECT_EQ(found.discount, 0.0f);
  EXPECT_EQ(found.end.row, SeenRow::kPadding);
}

TEST_F(ReturnsTest, EndAtATruncationWithItsFinalObservation) {
  const WindowReturn found = At(4, 3);
  EXPECT_DOUBLE_EQ(found.reward, Reward(4) + 0.9 * Reward(5));
  EXPECT_FLOAT_EQ(found.discount, 0.81f);
  EXPECT_EQ(found.end.row, 5);
  EXPECT_EQ(found.end.successor, batch_.FinalRow(0)) << "not the next episode's first row";
}

TEST_F(ReturnsTest, EndAtARowOfTheTrajectory) {
  const WindowReturn found = At(3, 2);
  EXPECT_DOUBLE_EQ(found.reward, Reward(3) + 0.9 * Reward(4));
  EXPECT_FLOAT_EQ(found.discount, 0.81f);
  EXPECT_EQ(found.end.row, 5);
  EXPECT_EQ(found.end.successor, nullptr);
}

TEST_F(ReturnsTest, EndWithTheTrajectoryAfterFewerSteps) {
  for (const int n : {2, 3, 100}) {
    const WindowReturn found = At(6, n);
    EXPECT_DOUBLE_EQ(found.reward, Reward(6) + 0.9 * Reward(7));
    EXPECT_FLOAT_EQ(found.discount, 0.81f) << "gamma^k of the steps there are";
    EXPECT_EQ(found.end.row, 7);
    EXPECT_EQ(found.end.successor, batch_.NextRow(0));
  }
}

TEST(ChoiceValuesTest, TakesTheBestThatAMaskAllows) {
  const ChoiceValues values(ActionLayout(MultiDiscrete({3, 2})));
  const std::vector<float> by{1, 3, 2, 5, 4}, of{10, 20, 30, 40, 60};
  EXPECT_DOUBLE_EQ(values.ValueOfBest(by.data(), of.data(), nullptr), (20 + 40) / 2.0);
  const std::vector<std::uint8_t> mask{1, 0, 1, 0, 1};
  EXPECT_DOUBLE_EQ(values.ValueOfBest(by.data(), of.data(), mask.data()), (30 + 60) / 2.0);
  const std::int32_t action[] = {2, 1};
  EXPECT_EQ(values.OutputOf(0, action), 2u);
  EXPECT_EQ(values.OutputOf(1, action), 4u);
}

TEST(DqnModelTest, IsAPolicyAndItsTarget) {
  const ModelSpec spec = Spec();
  ASSERT_EQ(spec.networks.size(), 2u);
  EXPECT_TRUE(spec.networks[0].published && spec.networks[0].trained);
  EXPECT_EQ(spec.networks[1].follows, "policy");
  EXPECT_FALSE(spec.networks[1].published);
  EXPECT_EQ(*ModelSpec::Parse(spec.ToText()), spec);
}

TEST(DqnModelTest, RefusesNumbersSwitchesAndMemory) {
  const auto networks = AlgorithmNamed("dqn")->networks;
  EXPECT_FALSE(networks(PolicyAndValue{.spaces = {Box({3}), Box({2})}}.ToSpec()).ok());
  EXPECT_FALSE(networks(PolicyAndValue{.spaces = {Box({3}), MultiBinary(2)}}.ToSpec()).ok());
  PolicyAndValue remembers = ExampleSpec();
  remembers.trunk = {*Layer::Parse("lstm 4")};
  remembers.separate_value = false;
  EXPECT_FALSE(networks(remembers.ToSpec()).ok());
}

/// A replayed batch of windows of n + 1 steps: as a store gives it.
struct Windows {
  explicit Windows(const ModelSpec& spec, bool masked = false)
      : batch(TrajectoryLayout(spec, 4), 5), mask(2 * 8, 1) {
    for (int i = 0; i < 16; i += 2) mask[i + (i / 2) % 2] = i % 3 == 0 ? 0 : 1;
    for (std::uint32_t i = 0; i < 5; ++i) {
      const ExampleTrajectory whole(i, 1, 8);
      const int first = static_cast<int>(i) % 3 + (i == 4 ? 4 : 0);
      TrajectoryView view = whole.view();
      view.first_step += static_cast<std::uint64_t>(first);
      view.steps = first == 0 || first == 4 ? 3 : std::min(4, 3 - first);
      if (first == 5) view.steps = 1;
      const auto part = [&](auto column, int width) {
        return column.subspan(static_cast<std::size_t>(first * width),
                              static_cast<std::size_t>(view.steps * width));
      };
      view.observation = part(view.observation, 12);
      view.action = part(view.action, 1);
      view.log_prob = part(view.log_prob, 1);
      view.reward = part(view.reward, 1);
      view.flags = part(view.flags, 1);
      if (masked) view.mask = part(std::span<const std::uint8_t>(mask), 2);
      const bool truncated = std::ranges::any_of(
          view.flags, [](std::uint8_t flags) { return (flags & kTruncatedFlag) != 0; });
      if (!truncated) view.final_observation = {};
      view.episodes = {};
      EXPECT_TRUE(batch.Add(view));
      const std::size_t row = i * 4;
      std::fill_n(batch.weight.begin() + row, 4, 0.0f);
      batch.weight[row] = 0.5f + 0.1f * static_cast<float>(i);
    }
    batch.samples = TrainingBatch::Samples::kReplayed;
    batch.learned = true;
  }
  TrainingBatch batch;
  std::vector<std::uint8_t> mask;
};

/// The loss of an update by its definition, in double: rows one by one.
double LossOf(const ModelSpec& spec, const AlgorithmSettings& settings, const TrainingBatch& batch,
              const PlannedUpdate& update, const BatchPlan& plan, std::span<const float> parameters,
              std::span<const float> fixed) {
  const ParameterLayout layout(spec);
  SingleNetwork policy(spec, layout, "policy", 1), target(spec, layout, "target", 1);
  double loss = 0.0;
  for (std::size_t i = 0; i < update.count; ++i) {
    const std::int32_t row = plan.order[update.first + i];
    double y = 0.0, discount = 1.0;
    const std::int32_t slot = row / batch.length;
    const std::int32_t end = slot * batch.length + batch.trajectories[slot].steps;
    const std::byte* after = nullptr;
    const std::uint8_t* mask = nullptr;
    bool ended = false;
    std::int32_t at = row;
    for (; at < end && at < row + settings.n_step && !ended; ++at) {
      y += discount * double{batch.reward[at]};
      discount *= settings.gamma;
      if ((batch.flags[at] & kTerminatedFlag) != 0) ended = true;
      if ((batch.flags[at] & kTruncatedFlag) != 0) {
        const auto found = std::ranges::find(batch.final_row, at) - batch.final_row.begin();
        after = batch.FinalRow(static_cast<std::size_t>(found));
        break;
      }
    }
    if (!ended) {
      if (after == nullptr && at < end) {
        after = batch.ObservationRow(static_cast<std::size_t>(at));
        if (batch.masked) mask = &batch.mask[static_cast<std::size_t>(at) * 2];
      } else if (after == nullptr) {
        after = batch.NextRow(static_cast<std::size_t>(slot));
      }
      float next[2], by[2];
      target.Forward(fixed, after, 1, next);
      policy.Forward(fixed, after, 1, by);
      const float* const chooser = settings.double_q ? by : next;
      int best = chooser[1] > chooser[0] ? 1 : 0;
      if (mask != nullptr && mask[best] == 0) best = 1 - best;
      y += discount * double{next[best]};
    }
    float q[2];
    policy.Forward(parameters, batch.ObservationRow(static_cast<std::size_t>(row)), 1, q);
    const double error = double{q[batch.action[row]]} - y, size = std::abs(error);
    loss += double{batch.weight[row]} * (size <= 1 ? 0.5 * size * size : size - 0.5);
  }
  return loss / static_cast<double>(update.count);
}

class DqnGradientTest : public testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(DqnGradientTest, IsThatOfTheLoss) {
  const auto [double_q, masked] = GetParam();
  AlgorithmSettings settings = Settings();
  settings.double_q = double_q;
  const ModelSpec spec = Spec();
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 4, parameters, {Initializer::kHe});
  Random random(5);  // the target is another network than the policy
  for (std::size_t i = layout.trained_count(); i < layout.total; ++i)
    parameters[i] += 0.5f * (random.Uniform() - 0.5f);
  Windows windows(spec, masked);
  windows.batch.reward[0] = 4.0f;  // an error beyond Huber's delta

  ReplayPlanner planner(settings);
  const BatchPlan& plan = planner.Plan(windows.batch, Rates::Of(settings), 0, 1.0);
  ASSERT_EQ(plan.updates.size(), 2u);
  const auto algorithm = settings.kind->make(spec, settings);
  algorithm->Prepare(parameters, windows.batch, plan);
  std::vector<float> gradient(layout.trained_count());
  for (std::size_t update = 0; update < plan.updates.size(); ++update) {
    ASSERT_TRUE(algorithm->Gradient(update, parameters, gradient));
    const auto loss = [&](std::size_t i, float by) {
      std::vector<float> moved(parameters.begin(), parameters.end());
      moved[i] += by;
      return LossOf(spec, settings, windows.batch, plan.updates[update], plan, moved, parameters);
    };
    for (const char* tensor :
         {"policy.0.weight", "policy.0.bias", "policy.head.weight", "policy.head.bias"}) {
      const TensorSlot& slot = layout.Find(tensor);
      for (std::size_t i = slot.offset; i < slot.offset + slot.count; i += 3) {
        constexpr float kBy = 1e-2f;
        EXPECT_NEAR(gradient[i], (loss(i, kBy) - loss(i, -kBy)) / (2 * kBy), 2e-3) << tensor;
      }
    }
  }
  EXPECT_EQ(algorithm->row_answers().size(), plan.rows.size()) << "an error for each window";
}

INSTANTIATE_TEST_SUITE_P(Forms, DqnGradientTest,
                         testing::Combine(testing::Bool(), testing::Bool()));

TEST(DqnTest, FindsAnErrorForEachRowOfANewBatchWherePrioritiesWantIt) {
  AlgorithmSettings settings = Settings();
  const ModelSpec spec = Spec();
  AlignedFloats parameters(ParameterLayout(spec).total);
  InitializeParameters(spec, 4, parameters);
  TrainingBatch batch(TrajectoryLayout(spec, 8), 2);
  for (std::uint32_t agent : {1u, 2u})
    ASSERT_TRUE(batch.Add(ExampleTrajectory(agent, 1, 8).view()));
  ReplayPlanner planner(settings);
  const BatchPlan& plan = planner.Plan(batch, Rates::Of(settings), 0, 1.0);
  EXPECT_TRUE(plan.updates.empty());
  for (const double exponent : {0.0, 0.6}) {
    settings.replay.priority_exponent = exponent;
    const auto algorithm = settings.kind->make(spec, settings);
    algorithm->Prepare(parameters, batch, plan);
    EXPECT_EQ(algorithm->row_answers().size(), exponent == 0.0 ? 0u : 16u);
  }
}

TEST(ReplayPlannerTest, CountsUpdatesOverBatchesAndRestarts) {
  const ModelSpec spec = Spec();
  const AlgorithmSettings settings = Settings();
  const Windows windows(spec);
  ReplayPlanner planner(settings);
  const auto moves = [&](ReplayPlanner& one) {
    std::vector<bool> moved;
    for (const PlannedUpdate& update : one.Plan(windows.batch, Rates::Of(settings), 0, 1.0).updates)
      moved.push_back(update.moves_targets);
    one.Began(moved.size());
    return moved;
  };
  EXPECT_EQ(moves(planner), (std::vector{false, true}));
  planner.Began(1);
  EXPECT_EQ(moves(planner), (std::vector{true, false}));
  SavedState state;
  planner.Save(StateWriter(&state, "planner"));
  ReplayPlanner other(settings);
  ASSERT_TRUE(other.Load(StateReader(state, "planner")).ok());
  EXPECT_EQ(moves(other), moves(planner));
}

TEST(DqnTrainerTest, MovesTheTargetAndCountsNoObservationTwice) {
  const ModelSpec spec = Spec(true);
  const ParameterLayout layout(spec);
  AlgorithmSettings settings = Settings();
  HostTrainer trainer(spec, settings);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 4, parameters);
  trainer.SetParameters(parameters);
  Windows windows(spec);
  ReplayPlanner planner(settings);
  const auto learn = [&] {
    ASSERT_TRUE(trainer.Open(1, false));
    trainer.Begin(windows.batch, planner.Plan(windows.batch, Rates::Of(settings), 0, 1.0));
    planner.Began(trainer.Finish().begun);
  };
  learn();
  const auto tensor = [&](const char* name) {
    const TensorSlot& slot = layout.Find(name);
    const auto all = trainer.parameters().subspan(slot.offset, slot.count);
    return std::vector<float>(all.begin(), all.end());
  };
  EXPECT_NE(tensor("policy.0.weight"),
            std::vector<float>(parameters.begin() + layout.Find("policy.0.weight").offset,
                               parameters.begin() + layout.Find("policy.0.weight").offset + 48));
  EXPECT_EQ(tensor("target.0.weight"), tensor("policy.0.weight")) << "after the second update";
  EXPECT_EQ(tensor("statistics.observation.count")[0], 0.0f);
}

}  // namespace
}  // namespace murmurate
