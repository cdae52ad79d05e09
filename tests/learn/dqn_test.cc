// DQN: returns of n steps, masks, the gradient against finite differences of the loss as its
// definition says, and what becomes of targets, rewards and statistics around it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/choice_values.h"
#include "server/learn/host_trainer.h"
#include "server/learn/replay_planner.h"
#include "server/learn/window_return.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "tests/learn/example_batches.h"
#include "tests/learn/replay_loss.h"

namespace murmurate {
namespace {

AlgorithmSettings Settings(bool dueling = false, int quantiles = 1) {
  AlgorithmSettings settings = SmallReplay("dqn");
  settings.target_part = 1.0;
  settings.policy.dueling = dueling;
  settings.policy.quantiles = quantiles;
  return settings;
}

ModelSpec SpecOf(const AlgorithmSettings& settings, bool normalize = false) {
  return *SmallNetworks(settings, Discrete(2), normalize);
}
ModelSpec Spec() { return SpecOf(Settings()); }

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

TEST(DqnModelTest, HasWhatSharesThePolicysLayersAndATargetOfEach) {
  const ModelSpec spec = SpecOf(Settings(true, 5));
  ASSERT_EQ(spec.networks.size(), 6u);
  EXPECT_EQ(spec.Find("value")->shares, "policy");
  EXPECT_EQ(spec.Find("quantiles")->outputs, 10);
  EXPECT_EQ(spec.Find("target_quantiles")->follows, "quantiles");
  EXPECT_TRUE(CheckModel(spec).ok());
  EXPECT_EQ(*ModelSpec::Parse(spec.ToText()), spec);
  EXPECT_EQ(ParameterLayout(spec).published.count, ParameterLayout(Spec()).published.count)
      << "players receive as much as without";
}

TEST(DqnModelTest, RefusesNumbersSwitchesMemoryAndTooManyOutputs) {
  const auto refusal = [](const ModelSpec& spec, int quantiles = 1) {
    const AlgorithmSettings settings = Settings(false, quantiles);
    return settings.kind->networks(spec, settings).status().message();
  };
  for (const Space& action : {Box({2}), MultiBinary(2)})
    EXPECT_THAT(refusal(PolicyAndValue{.spaces = {Box({3}), action}}.ToSpec()),
                testing::HasSubstr("have numbers or switches in them"));
  PolicyAndValue remembers = ExampleSpec();
  remembers.trunk = {*Layer::Parse("lstm 4")};
  remembers.separate_value = false;
  EXPECT_THAT(refusal(remembers.ToSpec()), testing::HasSubstr("this model remembers"));
  EXPECT_THAT(refusal(PolicyAndValue{.spaces = {Box({3}), Discrete(100)}}.ToSpec(), 1000),
              testing::HasSubstr("has 100000 outputs, expected at most 65536"));
}

struct Form {
  bool dueling = false;
  int quantiles = 1;
  bool double_q = true, masked = false;
};

class DqnLossTest : public ReplayLossTest, public testing::WithParamInterface<Form> {
 protected:
  DqnLossTest() : ReplayLossTest(SettingsOf(GetParam()), SpecOf(GetParam()), GetParam().masked) {
    windows_.batch.reward[0] = 4.0f;  // an error beyond Huber's delta
  }
  static AlgorithmSettings SettingsOf(const Form& form) {
    AlgorithmSettings settings = Settings(form.dueling, form.quantiles);
    settings.double_q = form.double_q;
    return settings;
  }
  static ModelSpec SpecOf(const Form& form) {
    return *SmallNetworks(SettingsOf(form), MultiDiscrete({3, 2}));
  }

  static constexpr int kFirst[] = {0, 3, 5};  ///< outputs of the variables

  /// [outputs][quantiles], by the definition.
  std::vector<double> Values(const std::string& prefix, std::span<const float> parameters,
                             const std::byte* observation) const {
    const auto run = [&](const std::string& network) {
      return Run(network.c_str(), parameters, observation, nullptr);
    };
    const std::vector<float> p = run(prefix.empty() ? "policy" : "target");
    const auto n = static_cast<std::size_t>(settings_.policy.quantiles);
    std::vector<double> q;
    for (int v = 0; v < 2; ++v) {
      double mean = 0.0;
      for (int c = kFirst[v]; c < kFirst[v + 1]; ++c)
        mean += double{p[c]} / (kFirst[v + 1] - kFirst[v]);
      for (int c = kFirst[v]; c < kFirst[v + 1]; ++c)
        q.insert(q.end(), n,
                 settings_.policy.dueling ? run(prefix + "value")[0] + double{p[c]} - mean
                                          : double{p[c]});
    }
    if (n == 1) return q;
    const std::vector<float> z = run(prefix + "quantiles");
    for (std::size_t i = 0; i < q.size(); ++i) {
      const auto first = z.begin() + static_cast<std::ptrdiff_t>(i / n * n);
      q[i] += double{z[i]} -
              std::accumulate(first, first + static_cast<std::ptrdiff_t>(n), 0.0) / double(n);
    }
    return q;
  }

  /// The numbers that a step is learned from.
  std::vector<double> Targets(std::int32_t row) const {
    const auto found = windows_.ReturnFrom(row, settings_.n_step, settings_.gamma);
    const auto n = static_cast<std::size_t>(settings_.policy.quantiles);
    std::vector<double> targets(n, found.reward);
    if (found.after == nullptr) return targets;
    const std::vector<double> of = Values("target_", parameters_, found.after);
    const std::vector<double> by = settings_.double_q ? Values("", parameters_, found.after) : of;
    for (int v = 0; v < 2; ++v) {
      int best = -1;
      double most = 0.0;
      for (int c = kFirst[v]; c < kFirst[v + 1]; ++c) {
        const auto at = static_cast<std::size_t>(c) * n;
        const double mean = std::accumulate(&by[at], &by[at] + n, 0.0);
        const bool open = !GetParam().masked || found.row < 0 ||
                          windows_.batch.mask[static_cast<std::size_t>(found.row * 5 + c)] != 0;
        if (open && (best < 0 || mean > most)) {
          best = c;
          most = mean;
        }
      }
      for (std::size_t j = 0; j < n; ++j)
        targets[j] += found.discount * of[static_cast<std::size_t>(best) * n + j] / 2;
    }
    return targets;
  }

  double Loss(std::size_t update, std::span<const float> parameters) const {
    const auto n = static_cast<std::size_t>(settings_.policy.quantiles);
    double loss = 0.0;
    for (const std::int32_t row : Rows(update)) {
      const std::vector<double> q = Values("", parameters, Observation(row)), y = Targets(row);
      const double weight = double{windows_.batch.weight[static_cast<std::size_t>(row)]};
      for (int v = 0; v < 2; ++v) {
        const int choice = windows_.batch.action[static_cast<std::size_t>(row * 2 + v)];
        for (std::size_t i = 0; i < n; ++i) {
          const double tau = (double(i) + 0.5) / double(n);
          for (const double target : y) {
            const double u = target - q[static_cast<std::size_t>(kFirst[v] + choice) * n + i];
            const double huber = std::abs(u) <= 1 ? 0.5 * u * u : std::abs(u) - 0.5;
            loss += 0.5 * weight * 2 * std::abs(tau - (u < 0)) * huber / double(n * n);
          }
        }
      }
    }
    return loss / static_cast<double>(Rows(update).size());
  }
};

TEST_P(DqnLossTest, TheGradientIsThatOfTheLoss) {
  ASSERT_EQ(plan_->updates.size(), 2u);
  for (std::size_t update = 0; update < 2; ++update) {
    ASSERT_TRUE(algorithm_->Gradient(update, parameters_, gradient_));
    for (const NetworkSpec& network : spec_.networks)
      if (network.trained) Compare(network.name, [&](const auto& at) { return Loss(update, at); });
  }
}

TEST_P(DqnLossTest, AnErrorOfAStepIsTheDistanceOfItsMeans) {
  ASSERT_TRUE(algorithm_->Gradient(0, parameters_, gradient_));
  const auto n = static_cast<std::size_t>(settings_.policy.quantiles);
  for (std::size_t i = 0; i < Rows(0).size(); ++i) {
    const std::int32_t row = Rows(0)[i];
    const std::vector<double> q = Values("", parameters_, Observation(row)), y = Targets(row);
    const double target = std::accumulate(y.begin(), y.end(), 0.0) / double(n);
    double distance = 0.0;
    for (int v = 0; v < 2; ++v) {
      const int choice = windows_.batch.action[static_cast<std::size_t>(row * 2 + v)];
      const double* const of = &q[static_cast<std::size_t>(kFirst[v] + choice) * n];
      distance += 0.5 * std::abs(std::accumulate(of, of + n, 0.0) / double(n) - target);
    }
    EXPECT_NEAR(algorithm_->row_answers()[i], distance, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, DqnLossTest,
                         testing::Values(Form{}, Form{.masked = true}, Form{.double_q = false},
                                         Form{.dueling = true, .masked = true},
                                         Form{.quantiles = 5, .masked = true},
                                         Form{.quantiles = 4, .double_q = false},
                                         Form{.dueling = true, .quantiles = 3}));

/// One window of three steps, networks of biases alone: each number below is on paper.
TEST(DqnTest, LearnsFromTheQuantilesOfTheTargetsBestChoice) {
  AlgorithmSettings settings = Settings(false, 2);
  settings.gamma = 0.5;
  settings.replay.minibatch = 1;
  PolicyAndValue model{.spaces = {Box({3}), Discrete(2)}, .trunk = {}};
  const ModelSpec spec = *settings.kind->networks(model.ToSpec(), settings);
  const ParameterLayout layout(spec);
  AlignedFloats parameters(layout.total);
  const auto set = [&](const char* bias, const std::vector<float>& values) {
    std::ranges::copy(values, parameters.begin() + layout.Find(bias).offset);
  };
  set("policy.head.bias", {0.5f, 0.2f});  // chooses the first
  set("target.head.bias", {1.0f, 3.0f});
  set("target_quantiles.head.bias", {-1.0f, 1.0f, -2.0f, 2.0f});
  RandomWindows windows(spec, 1, 3);
  std::ranges::copy(std::vector{1.0f, 2.0f, 9.0f}, windows.batch.reward.begin());
  windows.batch.action[0] = 1;
  ReplayPlanner planner(settings);
  const BatchPlan& plan = planner.Plan(windows.batch, Rates::Of(settings), 0, 1.0);
  const auto algorithm = settings.kind->make(spec, settings);
  algorithm->Prepare(parameters, windows.batch, plan);
  std::vector<float> gradient(layout.trained_count());
  ASSERT_TRUE(algorithm->Gradient(0, parameters, gradient));
  // r = 1 + 0.5 * 2; y = 2 + 0.25 * {1 - 1, 1 + 1} = {2, 2.5}; q = {0.2, 0.2}; u = {1.8, 2.3}
  EXPECT_FLOAT_EQ(algorithm->row_answers()[0], 2.05f);
  // Huber's are 1.3 and 1.8, mean 1.55; weights 2 tau = 0.5 and 1.5; the window's weight is 0.5
  LearnReport report;
  ReportMetrics(*settings.kind, algorithm->sums(), &report);
  EXPECT_NEAR(report.value_loss, 0.5 * 1.55, 1e-6);
  // by q_i: -0.5 * {0.5, 1.5} / 2; the mean's is their sum, the spread's what differs from its mean
  const float* const policy = &gradient[layout.Find("policy.head.bias").offset];
  const float* const spread = &gradient[layout.Find("quantiles.head.bias").offset];
  EXPECT_FLOAT_EQ(policy[0], 0.0f);
  EXPECT_FLOAT_EQ(policy[1], -0.5f);
  EXPECT_FLOAT_EQ(spread[2], 0.125f);
  EXPECT_FLOAT_EQ(spread[3], -0.125f);
}

TEST(DqnTest, FindsAnErrorForEachRowOfANewBatchWherePrioritiesWantIt) {
  AlgorithmSettings settings = Settings(true, 3);
  const ModelSpec spec = SpecOf(settings);
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
  const RandomWindows windows(spec, 10, 4);
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
  const AlgorithmSettings settings = Settings(true, 3);
  const ModelSpec spec = SpecOf(settings, true);
  const ParameterLayout layout(spec);
  HostTrainer trainer(spec, settings);
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 4, parameters);
  trainer.SetParameters(parameters);
  RandomWindows windows(spec, 10, 4);
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
  for (const auto& [target, followed] : {std::pair{"target.0.weight", "policy.0.weight"},
                                         {"target_value.head.weight", "value.head.weight"},
                                         {"target_quantiles.head.bias", "quantiles.head.bias"}}) {
    const std::vector<float> now = tensor(followed);
    EXPECT_FALSE(std::ranges::equal(
        now, std::span(parameters).subspan(layout.Find(followed).offset, now.size())));
    EXPECT_EQ(tensor(target), now) << "after the second update";
  }
  EXPECT_EQ(tensor("statistics.observation.count")[0], 0.0f);
}

}  // namespace
}  // namespace murmurate
