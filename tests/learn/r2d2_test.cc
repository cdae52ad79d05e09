// R2D2: targets worked by hand, the gradient against finite differences of the loss as its
// definition says, priorities, and what has no part in them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "server/learn/host_trainer.h"
#include "server/learn/value_rescaling.h"
#include "server/network/actor_critic.h"
#include "server/network/sequence_network.h"
#include "tests/learn/sequence_batches.h"

namespace murmurate {
namespace {

TEST(R2d2ModelTest, IsAPolicyThatRemembersAndItsTarget) {
  const ModelSpec spec = SequenceSpec();
  ASSERT_EQ(spec.networks.size(), 2u);
  EXPECT_TRUE(spec.networks[0].published && spec.networks[0].recurrent());
  EXPECT_EQ(spec.networks[1].follows, "policy");
  EXPECT_EQ(*ModelSpec::Parse(spec.ToText()), spec);
}

TEST(R2d2ModelTest, RefusesNumbersAndModelsWithoutAMemory) {
  const auto networks = AlgorithmNamed("r2d2")->networks;
  PolicyAndValue numbers{.spaces = {Box({3}), Box({2})}, .trunk = {*Layer::Parse("gru 4")}};
  numbers.separate_value = false;
  const auto of_numbers = networks(numbers.ToSpec(), {}),
             forgets = networks(ExampleSpec().ToSpec(), {});
  ASSERT_FALSE(of_numbers.ok());
  EXPECT_NE(of_numbers.status().message().find("a value for each choice"), std::string::npos);
  ASSERT_FALSE(forgets.ok());
  EXPECT_NE(forgets.status().message().find("this model has none"), std::string::npos);
}

/// A network of which nothing but the head's biases is not 0: its values are these everywhere.
class HandWorkedTest : public testing::Test {
 protected:
  HandWorkedTest() {
    settings_.n_step = 2;
    settings_.gamma = 0.5;
    Set("policy.head.bias", {0.25f, 0.5f});
    Set("target.head.bias", {1.5f, -0.75f});
    for (int i = 0; i < 8; ++i) {
      batch_.batch.reward[i] = kRewards[i];
      batch_.batch.action[i] = i % 2;
    }
  }
  void Set(const char* tensor, std::vector<float> values) {
    std::ranges::copy(values, parameters_.begin() + layout_.Find(tensor).offset);
  }
  /// The priority of the sequence, and the gradient of the head's biases.
  float Learn() {
    ReplayPlanner planner(settings_);
    const BatchPlan& plan = planner.Plan(batch_.batch, Rates::Of(settings_), 0, 1.0);
    const auto algorithm = settings_.kind->make(spec_, settings_);
    algorithm->Prepare(parameters_, batch_.batch, plan);
    std::vector<float> gradient(layout_.trained_count());
    EXPECT_TRUE(algorithm->Gradient(0, parameters_, gradient));
    EXPECT_EQ(algorithm->row_answers().size(), 1u);
    const TensorSlot& bias = layout_.Find("policy.head.bias");
    bias_gradient_ = {gradient[bias.offset], gradient[bias.offset + 1]};
    return algorithm->row_answers()[0];
  }
  /// What Learn has to find if these are the targets of the steps behind burn_in.
  void ExpectTargets(const std::vector<double>& targets) {
    const float priority = Learn();
    const std::size_t first = 8 - targets.size();
    double largest = 0.0, sum = 0.0, bias[2] = {0.0, 0.0};
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const std::size_t action = (first + i) % 2;
      const double error = (action == 0 ? 0.25 : 0.5) - targets[i];
      largest = std::max(largest, std::abs(error));
      sum += std::abs(error);
      bias[action] += std::clamp(error, -1.0, 1.0) / static_cast<double>(targets.size());
    }
    const double steps = static_cast<double>(targets.size());
    EXPECT_NEAR(priority, 0.9 * largest + 0.1 * sum / steps, 1e-5);
    EXPECT_NEAR(bias_gradient_[0], bias[0], 1e-5);
    EXPECT_NEAR(bias_gradient_[1], bias[1], 1e-5);
  }

  static constexpr float kRewards[] = {1, -2, 3, 5, 0.5f, -4, 2, 7};
  AlgorithmSettings settings_ = SequenceSettings();
  const ModelSpec spec_ = SequenceSpec();
  const ParameterLayout layout_{spec_};
  AlignedFloats parameters_{layout_.total};
  SequenceBatch batch_{spec_, settings_, 1};
  std::vector<float> bias_gradient_;
};

/// The episode terminates with step 2 and is truncated with step 5; the policy prefers choice 1,
/// whose value the target has as -0.75.
TEST_F(HandWorkedTest, TargetsKnowBordersTerminationsAndTruncations) {
  const double v = RescaledBack(-0.75);
  ExpectTargets({Rescaled(-2 + 0.5 * 3),              // terminated after two steps
                 Rescaled(3),                         // terminates
                 Rescaled(5 + 0.5 * 0.5 + 0.25 * v),  // a step of the sequence
                 Rescaled(0.5 - 0.5 * 4 + 0.25 * v),  // the final observation
                 Rescaled(-4 + 0.5 * v),              // of the same, after one step
                 Rescaled(2 + 0.5 * 7 + 0.25 * v),    // behind the last step
                 Rescaled(7 + 0.5 * v)});
}

TEST_F(HandWorkedTest, TheTargetItselfChoosesWithoutDoubleQ) {
  settings_.double_q = false;
  settings_.burn_in = 6;
  const double v = RescaledBack(1.5);
  ExpectTargets({Rescaled(2 + 0.5 * 7 + 0.25 * v), Rescaled(7 + 0.5 * v)});
}

/// Behind the sequence nothing is known to be forbidden.
TEST_F(HandWorkedTest, AMaskForbidsTheBestChoice) {
  settings_.burn_in = 3;
  batch_.batch.masked = true;
  std::ranges::fill(batch_.batch.mask, std::uint8_t{1});
  batch_.batch.mask[2 * 5 + 1] = 0;
  const double v = RescaledBack(-0.75), allowed = RescaledBack(1.5);
  ExpectTargets({Rescaled(5 + 0.5 * 0.5 + 0.25 * allowed), Rescaled(0.5 - 0.5 * 4 + 0.25 * v),
                 Rescaled(-4 + 0.5 * v), Rescaled(2 + 0.5 * 7 + 0.25 * v), Rescaled(7 + 0.5 * v)});
}

TEST_F(HandWorkedTest, StepsOfBurnInTeachNothing) {
  settings_.burn_in = 4;
  const float before = Learn();
  const std::vector<float> gradient = bias_gradient_;
  batch_.batch.reward[0] = batch_.batch.reward[3] = 1000.0f;
  EXPECT_EQ(Learn(), before);
  EXPECT_EQ(bias_gradient_, gradient);
  batch_.batch.reward[4] = 1000.0f;
  EXPECT_GT(Learn(), before);
}

TEST_F(HandWorkedTest, ASequenceWithinBurnInHasNoErrorAndNoGradient) {
  settings_.burn_in = 4;
  batch_.Shorten(0, 3);
  EXPECT_EQ(Learn(), 0.0f);
  EXPECT_EQ(bias_gradient_, (std::vector{0.0f, 0.0f}));
}

/// The loss of an update by its definition, in double, one step after the other. Targets, the
/// choices in them and the state after burn_in are those of `fixed`.
class LossByDefinition {
 public:
  LossByDefinition(const ModelSpec& spec, const AlgorithmSettings& settings,
                   const TrainingBatch& batch, std::span<const float> fixed)
      : settings_(settings),
        batch_(batch),
        fixed_(fixed),
        layout_(spec),
        policy_(spec, layout_, "policy", 1),
        target_(spec, layout_, "target", 1) {
    for (int slot = 0; slot < static_cast<int>(batch.trajectories.size()); ++slot)
      FindTargets(slot);
  }
  double At(std::span<const float> parameters) {
    double loss = 0.0;
    std::size_t next = 0;
    for (std::size_t slot = 0; slot < batch_.trajectories.size(); ++slot) {
      std::vector<float> state = warm_[slot];
      const int first = static_cast<int>(slot) * batch_.length;
      for (int step = settings_.burn_in; step < batch_.trajectories[slot].steps; ++step, ++next) {
        const std::vector<float> q = Step(policy_, parameters, first + step, &state);
        const double size = std::abs(double{q[batch_.action[first + step]]} - targets_[next]);
        loss += double{batch_.weight[first + step]} * (size <= 1 ? 0.5 * size * size : size - 0.5);
      }
    }
    return loss / static_cast<double>(next);
  }

 private:
  std::vector<float> See(SequenceNetwork& network, std::span<const float> parameters,
                         const std::byte* row, bool begins, std::vector<float>* state) {
    std::vector<float> q(2), after(state->size());
    const std::uint8_t first = begins ? 1 : 0;
    network.Forward(parameters, row, {1, 1, &first, state->data(), after.data()}, q.data());
    *state = after;
    return q;
  }
  std::vector<float> Step(SequenceNetwork& network, std::span<const float> parameters, int row,
                          std::vector<float>* state) {
    return See(network, parameters, batch_.ObservationRow(static_cast<std::size_t>(row)),
               (batch_.flags[row] & kFirst) != 0, state);
  }
  void FindTargets(int slot) {
    const int first = slot * batch_.length,
              end = first + batch_.trajectories[static_cast<std::size_t>(slot)].steps;
    const auto states = static_cast<std::size_t>(policy_.state_floats());
    const float* const stored = batch_.state0.data() + slot * batch_.layout.state_floats;
    std::vector<float> state(stored, stored + states), target_state = state;
    std::vector<double> worth(8), behind(8);
    for (int row = first; row < end; ++row) {
      if (row == first + settings_.burn_in) warm_.push_back(state);
      const std::vector<float> q = Step(policy_, fixed_, row, &state),
                               of = Step(target_, fixed_, row, &target_state);
      const std::uint8_t* const mask =
          batch_.masked ? &batch_.mask[static_cast<std::size_t>(row) * 2] : nullptr;
      worth[row - first] = Best(q, of, mask);
      const auto final = std::ranges::find(batch_.final_row, row) - batch_.final_row.begin();
      const bool truncated = (batch_.flags[row] & kTruncatedFlag) != 0;
      const std::byte* const after = truncated ? batch_.FinalRow(static_cast<std::size_t>(final))
                                               : batch_.NextRow(static_cast<std::size_t>(slot));
      std::vector<float> one = state, other = target_state;
      behind[row - first] = Best(See(policy_, fixed_, after, false, &one),
                                 See(target_, fixed_, after, false, &other), nullptr);
    }
    for (int row = first + settings_.burn_in; row < end; ++row) {
      double y = 0.0, discount = 1.0;
      for (int at = row;; ++at) {
        if (at == row + settings_.n_step) {
          y += discount * worth[at - first];
          break;
        }
        y += discount * double{batch_.reward[at]};
        discount *= settings_.gamma;
        if ((batch_.flags[at] & kTerminatedFlag) != 0) break;
        if ((batch_.flags[at] & kTruncatedFlag) == 0 && at + 1 < end) continue;
        y += discount * behind[at - first];
        break;
      }
      targets_.push_back(Rescaled(y));
    }
  }
  double Best(const std::vector<float>& q, const std::vector<float>& of,
              const std::uint8_t* mask) const {
    const std::vector<float>& by = settings_.double_q ? q : of;
    int best = by[1] > by[0] ? 1 : 0;
    if (mask != nullptr && mask[best] == 0) best = 1 - best;
    return RescaledBack(double{of[best]});
  }

  const AlgorithmSettings& settings_;
  const TrainingBatch& batch_;
  const std::span<const float> fixed_;
  const ParameterLayout layout_;
  SequenceNetwork policy_, target_;
  std::vector<std::vector<float>> warm_;
  std::vector<double> targets_;
};

class R2d2GradientTest : public testing::TestWithParam<std::tuple<const char*, bool, bool>> {};

TEST_P(R2d2GradientTest, IsThatOfTheLoss) {
  const auto [cell, double_q, masked] = GetParam();
  AlgorithmSettings settings = SequenceSettings();
  settings.double_q = double_q;
  const ModelSpec spec = SequenceSpec(cell);
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 4, parameters, {Initializer::kXavier});
  Random random(5);  // the target is another network than the policy
  for (std::size_t i = layout.trained_count(); i < layout.total; ++i)
    parameters[i] += 0.5f * (random.Uniform() - 0.5f);
  SequenceBatch sequences(spec, settings, 2);
  TrainingBatch& batch = sequences.batch;
  batch.reward[4] = 30.0f;  // an error beyond Huber's delta
  batch.masked = masked;
  for (int i = 0; i < 32; ++i) batch.mask[i] = !masked || (i / 2 + i) % 3 > 0 || i % 2 == 0;

  ReplayPlanner planner(settings);
  const BatchPlan& plan = planner.Plan(batch, Rates::Of(settings), 0, 1.0);
  ASSERT_EQ(plan.updates.size(), 1u);
  const auto algorithm = settings.kind->make(spec, settings);
  algorithm->Prepare(parameters, batch, plan);
  std::vector<float> gradient(layout.trained_count());
  ASSERT_TRUE(algorithm->Gradient(0, parameters, gradient));
  LossByDefinition loss(spec, settings, batch, parameters);
  std::vector<float> moved(parameters.begin(), parameters.end());
  const auto moved_loss = [&](std::size_t i, float by) {
    moved[i] = parameters[i] + by;
    const double found = loss.At(moved);
    moved[i] = parameters[i];
    return found;
  };
  for (std::size_t i = 0; i < layout.trained_count(); i += 3) {
    constexpr float kBy = 1e-2f;
    EXPECT_NEAR(gradient[i], (moved_loss(i, kBy) - moved_loss(i, -kBy)) / (2 * kBy), 2e-4) << i;
  }
  LearnReport report;
  ReportMetrics(*settings.kind, algorithm->sums(), &report);
  EXPECT_NEAR(report.value_loss, loss.At(parameters), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Forms, R2d2GradientTest,
                         testing::Combine(testing::Values("gru 6", "lstm 4"), testing::Bool(),
                                          testing::Bool()));

TEST(R2d2Test, FindsNothingOutOfANewBatch) {
  AlgorithmSettings settings = SequenceSettings();
  settings.replay.priority_exponent = 0.9;
  const ModelSpec spec = SequenceSpec();
  AlignedFloats parameters(ParameterLayout(spec).total);
  InitializeParameters(spec, 4, parameters);
  TrainingBatch batch(TrajectoryLayout(spec, 4), 2);
  for (std::uint32_t agent : {1u, 2u}) {
    const ExampleTrajectory played(agent, 1, 4);
    TrajectoryView view = played.view();
    const std::vector<float> state(6, 0.0f);
    view.state0 = state;
    ASSERT_TRUE(batch.Add(view));
  }
  ReplayPlanner planner(settings);
  const BatchPlan& plan = planner.Plan(batch, Rates::Of(settings), 0, 1.0);
  EXPECT_TRUE(plan.updates.empty());
  const auto algorithm = settings.kind->make(spec, settings);
  algorithm->Prepare(parameters, batch, plan);
  EXPECT_TRUE(algorithm->row_answers().empty());
}

}  // namespace
}  // namespace murmurate
