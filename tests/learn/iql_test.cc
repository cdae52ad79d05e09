// Implicit Q-learning: expectiles and advantage weights by hand, its gradients against finite
// differences of the losses as their definitions say, targets that move, and a policy that is
// better than the one that was recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "server/learn/encoded_actions.h"
#include "server/learn/expectile.h"
#include "server/learn/learner.h"
#include "server/learn/passes_and_targets.h"
#include "server/network/action_head_rows.h"
#include "shared/model/policy_and_value.h"
#include "tests/learn/replay_loss.h"

namespace murmurate {
namespace {

TEST(ExpectileTest, IsWorkedByHand) {
  EXPECT_DOUBLE_EQ(ExpectileLoss(2.0, 0.7), 2.8);
  EXPECT_DOUBLE_EQ(ExpectileLoss(-2.0, 0.7), 0.3 * 4.0);
  EXPECT_DOUBLE_EQ(ExpectileLoss(-3.0, 0.5), 4.5) << "half of the squared error";
  EXPECT_DOUBLE_EQ(ExpectileSlope(2.0, 0.7), -2.8);
  EXPECT_DOUBLE_EQ(ExpectileSlope(-2.0, 0.75), 1.0);
}

// Of the values 0 and 1 the tau-expectile is tau: tau (1 - v) = (1 - tau) v.
TEST(ExpectileTest, TheLossIsLeastAtTheExpectile) {
  for (const double tau : {0.1, 0.5, 0.7, 0.9}) {
    EXPECT_NEAR(ExpectileSlope(0.0 - tau, tau) + ExpectileSlope(1.0 - tau, tau), 0.0, 1e-12);
    const double by = 1e-6;
    for (const double u : {-1.5, 0.4})
      EXPECT_NEAR(ExpectileSlope(u, tau),
                  (ExpectileLoss(u - by, tau) - ExpectileLoss(u + by, tau)) / (2 * by), 1e-8);
  }
}

TEST(AdvantageWeightTest, IsWorkedByHandAndBounded) {
  EXPECT_DOUBLE_EQ(AdvantageWeight(0.0, 3.0, 100.0), 1.0);
  EXPECT_DOUBLE_EQ(AdvantageWeight(std::log(2.0), 3.0, 100.0), 8.0);
  EXPECT_DOUBLE_EQ(AdvantageWeight(-std::log(2.0), 3.0, 100.0), 0.125);
  EXPECT_DOUBLE_EQ(AdvantageWeight(2.0, 3.0, 100.0), 100.0);
  EXPECT_DOUBLE_EQ(AdvantageWeight(1e300, 1e6, 100.0), 100.0);
  EXPECT_DOUBLE_EQ(AdvantageWeight(-1e300, 1e6, 100.0), 0.0);
  EXPECT_DOUBLE_EQ(AdvantageWeight(5.0, 0.0, 100.0), 1.0) << "all alike";
}

const Space kEveryKind =
    Dict({{"gear", Discrete(3)}, {"lights", MultiBinary(2)}, {"turn", Box({2}, {-2, 0}, {2, 10})}});

TEST(EncodedActionsTest, ChoicesAreOneHotAndNumbersInUnitsOfTheirBox) {
  const auto encoded = [](const ContinuousSettings& settings, float first, float second) {
    EncodedActions actions(ActionLayout(kEveryKind, settings));
    const std::int32_t words[] = {2, 1, 0, std::bit_cast<std::int32_t>(first),
                                  std::bit_cast<std::int32_t>(second)};
    std::vector<float> numbers(actions.count());
    actions.Encode(words, 1, numbers.data());
    return numbers;
  };
  EXPECT_EQ(encoded({}, 1.0f, 2.5f), (std::vector<float>{0, 0, 1, 1, 0, 0.5f, -0.5f}));
  EXPECT_EQ(encoded({.scaled = true}, 0.5f, -3.0f), (std::vector<float>{0, 0, 1, 1, 0, 0.5f, -1}))
      << "what the game did not get is not what was done";
  const std::vector<float> squashed = encoded({.squashed = true}, 0.3f, -0.2f);
  EXPECT_NEAR(squashed[5], std::tanh(0.3), 1e-6);
  EXPECT_NEAR(squashed[6], std::tanh(-0.2), 1e-6);
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed("iql");
  settings.gamma = 0.9;
  settings.trajectory_length = 4;
  settings.batch_steps = 16;
  settings.minibatch = settings.replay.minibatch = 5;
  settings.normalize_reward = false;
  settings.max_grad_norm = 0;
  settings.n_step = 2;
  settings.policy.expectile = 0.8;
  settings.policy.inverse_temperature = 2.0;
  settings.policy.max_advantage_weight = 1.5;
  return settings;
}

Result<ModelSpec> Networks(const Space& action, const ContinuousSettings& continuous = {}) {
  return AlgorithmNamed("iql")->networks(
      PolicyAndValue{
          .spaces = {Box({3}), action}, .trunk = {{8, Activation::kTanh}}, .continuous = continuous}
          .ToSpec(),
      {});
}

TEST(IqlModelTest, IsAPolicyItsValueTwoCriticsAndTheirTargets) {
  const ModelSpec spec = *Networks(kEveryKind);
  ASSERT_EQ(spec.networks.size(), 6u);
  EXPECT_EQ(spec.networks[1].name, kValueNetwork);
  EXPECT_FALSE(spec.networks[1].reads_action || spec.networks[1].published);
  EXPECT_TRUE(spec.Find("q2")->reads_action);
  EXPECT_EQ(spec.Find("target_q2")->follows, "q2");
  EXPECT_TRUE(spec.continuous.state_dependent_deviation);
  EXPECT_FALSE(Networks(Discrete(3))->continuous.state_dependent_deviation);
  EXPECT_EQ(*ModelSpec::Parse(spec.ToText()), spec);
}

class IqlTest : public ReplayLossTest {
 protected:
  IqlTest() : ReplayLossTest(Settings(), *Networks(kEveryKind), true) {}

  std::vector<float> Encoded(std::int32_t row) const {
    EncodedActions actions(action_);
    std::vector<float> numbers(actions.count());
    actions.Encode(Action(row), 1, numbers.data());
    return numbers;
  }
  const std::int32_t* Action(std::int32_t row) const {
    return &windows_.batch.action[static_cast<std::size_t>(row * action_.words())];
  }
  double Weight(std::int32_t row) const {
    return windows_.batch.weight[static_cast<std::size_t>(row)];
  }
  double Taken(std::int32_t row) const {
    const std::vector<float> action = Encoded(row);
    return std::min(Run("target_q1", parameters_, Observation(row), action.data())[0],
                    Run("target_q2", parameters_, Observation(row), action.data())[0]);
  }
  double Value(std::span<const float> parameters, const std::byte* observation) const {
    return Run("value", parameters, observation, nullptr)[0];
  }
  double Mean(std::size_t update, const std::function<double(std::int32_t)>& of) const {
    double sum = 0.0;
    for (const std::int32_t row : Rows(update)) sum += Weight(row) * of(row);
    return sum / static_cast<double>(Rows(update).size());
  }
  double CriticLoss(const char* network, std::size_t update,
                    std::span<const float> parameters) const {
    return Mean(update, [&](std::int32_t row) {
      const auto found = windows_.ReturnFrom(row, settings_.n_step, settings_.gamma);
      double y = found.reward;
      if (found.after != nullptr) y += found.discount * Value(parameters_, found.after);
      const std::vector<float> action = Encoded(row);
      const double error = double{Run(network, parameters, Observation(row), action.data())[0]} - y;
      return 0.5 * error * error;
    });
  }
  double ValueLoss(std::size_t update, std::span<const float> parameters) const {
    return Mean(update, [&](std::int32_t row) {
      return ExpectileLoss(Taken(row) - Value(parameters, Observation(row)), 0.8);
    });
  }
  double PolicyLoss(std::size_t update, std::span<const float> parameters) const {
    const ActionHeadRows head(action_);
    return Mean(update, [&](std::int32_t row) {
      const std::vector<float> outputs = Run("policy", parameters, Observation(row), nullptr);
      const std::size_t mask = static_cast<std::size_t>(row * action_.mask_bytes());
      float log_prob = 0.0f;
      head.Evaluate({1, outputs.data(), nullptr, Action(row), &windows_.batch.mask[mask]},
                    &log_prob, nullptr);
      const double advantage = Taken(row) - Value(parameters_, Observation(row));
      return -std::min(std::exp(2.0 * advantage), 1.5) * double{log_prob};
    });
  }
};

TEST_F(IqlTest, GradientsAreThoseOfTheLosses) {
  ASSERT_EQ(plan_->updates.size(), 2u);
  for (std::size_t update = 0; update < 2; ++update) {
    ASSERT_TRUE(algorithm_->Gradient(update, parameters_, gradient_));
    for (const char* critic : {"q1", "q2"})
      Compare(critic, [&](const auto& at) { return CriticLoss(critic, update, at); });
    Compare("value", [&](const auto& at) { return ValueLoss(update, at); });
    Compare("policy", [&](const auto& at) { return PolicyLoss(update, at); });
  }
}

TEST_F(IqlTest, BothSidesOfTheBoundOnWeightsWereMet) {
  int bounded = 0, free = 0;
  for (std::size_t update = 0; update < 2; ++update)
    for (const std::int32_t row : Rows(update)) {
      const double advantage = Taken(row) - Value(parameters_, Observation(row));
      (std::exp(2.0 * advantage) > 1.5 ? bounded : free) += 1;
    }
  EXPECT_GT(bounded, 0);
  EXPECT_GT(free, 0);
}

/// Single steps: what is seen is in [-1, 1], any action of [-2, 2] is done, and the one that is twice
/// what is seen gets the most.
TrainingBatch RandomSteps(const ModelSpec& spec, int steps, std::uint64_t seed) {
  TrainingBatch batch(TrajectoryLayout(spec, 4), steps);
  Random random(seed);
  const float zero = 0.0f;
  for (int i = 0; i < steps; ++i) {
    const float seen = 2.0f * random.Uniform() - 1.0f, done = 2.0f * random.Uniform() - 1.0f;
    const auto action = std::bit_cast<std::int32_t>(done);
    const float reward = -(done - seen) * (done - seen);
    const std::uint8_t flags = kFirst | kTerminatedFlag;
    TrajectoryView view;
    view.first_step = static_cast<std::uint64_t>(i);
    view.steps = 1;
    view.observation = RowsOf({&seen, 1});
    view.action = {&action, 1};
    view.log_prob = view.reward = {&reward, 1};
    view.log_prob = {&zero, 1};
    view.flags = {&flags, 1};
    view.next_observation = RowsOf({&zero, 1});
    EXPECT_TRUE(batch.Add(view));
  }
  batch.samples = TrainingBatch::Samples::kRead;
  return batch;
}

/// The mean distance of a policy's mean from the best action, after passes over random steps.
double DistanceFromBest(double inverse_temperature) {
  AlgorithmSettings settings = Settings();
  settings.learning_rate = 5e-3;
  settings.batch_steps = 4096;
  settings.minibatch = 64;
  settings.n_step = 1;
  settings.target_every = 1;
  settings.target_part = 0.05;
  settings.policy.inverse_temperature = inverse_temperature;
  settings.policy.max_advantage_weight = 100.0;
  const ModelSpec spec =
      *AlgorithmNamed("iql")->networks(PolicyAndValue{.spaces = {Box({1}), Box({1}, -2, 2)},
                                                      .trunk = {{16, Activation::kTanh}},
                                                      .continuous = {.scaled = true}}
                                           .ToSpec(),
                                       {});
  settings.epochs = 30;
  Learner learner(spec, settings, 1);
  TrainingBatch batch = RandomSteps(spec, 1024, 3);
  const LearnReport report = learner.Learn(batch, 0);
  EXPECT_EQ(report.updates, 30u * 16u);
  const auto snapshot = learner.MakeSnapshot();
  SingleNetwork policy(spec, learner.layout(), kPolicyNetwork, 1);
  double distance = 0.0;
  for (const float seen : {-0.8f, -0.4f, 0.0f, 0.4f, 0.8f}) {
    float outputs[2];
    policy.Forward(snapshot->parameters, &seen, 1, outputs);
    distance += std::abs(double{outputs[0]} - seen) / 5.0;
  }
  return distance;
}

TEST(IqlLearningTest, ThePolicyDoesWhatWasBestInARecordingOfChance) {
  EXPECT_LT(DistanceFromBest(20.0), 0.15);
  EXPECT_GT(DistanceFromBest(0.0), 0.35) << "all alike: the mean of what was done, which is 0";
}

TEST(PassesAndTargetsTest, TargetsMoveAfterEachSoManyUpdatesOverBatches) {
  AlgorithmSettings settings = Settings();
  settings.target_every = 3;
  settings.target_part = 0.25;
  const ModelSpec spec = *Networks(Box({1}, -1, 1));
  RandomWindows windows(spec, 4, 4);
  std::ranges::fill(windows.batch.weight, 1.0f);
  windows.batch.samples = TrainingBatch::Samples::kRead;
  PassesAndTargets planner(spec, settings, 5);
  std::vector<bool> moves;
  const auto plan = [&](PassesAndTargets& by) {
    const BatchPlan& made = by.Plan(windows.batch, Rates::Of(settings), 0);
    for (const PlannedUpdate& update : made.updates) moves.push_back(update.moves_targets);
    EXPECT_EQ(made.target_part, 0.25f);
    by.Began(made.updates.size());
  };
  plan(planner);
  const std::size_t once = moves.size();
  SavedState state;
  planner.Save(StateWriter(&state, "planner"));
  PassesAndTargets other(spec, settings, 6);
  ASSERT_TRUE(other.Load(StateReader(state, "planner")).ok());
  for (int i = 0; i < 3; ++i) plan(other);
  ASSERT_EQ(moves.size(), 4 * once);
  EXPECT_NE(once % 3, 0u) << "a batch ends between two moves";
  for (std::size_t i = 0; i < moves.size(); ++i) EXPECT_EQ(moves[i], i % 3 == 2) << i;
}

}  // namespace
}  // namespace murmurate
