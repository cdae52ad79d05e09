// impala and a2c, piece by piece: V-trace with its weighted advantage by hand and against PyTorch,
// the gradient of a whole minibatch, and one pass against several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/on_policy.h"
#include "server/learn/returns.h"
#include "server/network/action_head_rows.h"
#include "server/network/policy_loss.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/trajectory/trajectory.h"
#include "tests/compute/torch_fixture.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

// Five steps with a termination (1), a truncation worth 6 (3), and a cut worth 2 (4); gamma = 1/2.
//   error  r + gamma V' - V:          -0.5, -1, -1, 2, -1
//   v - V: 4: 0.5 * -1 = -0.5         3: min(1, 4) * 2 = 2 (traces cut)
//          2: 0.25 * -1 + 0.5 L 0.25 * 2 = -0.25 + 0.25 L
//          1: 0.5 * -1 = -0.5         0: 1 * -0.5 + 0.5 L 1 * -0.5 = -0.5 - 0.25 L
//   A = min(level, pi/mu) (error + 0.5 L (v' - V'))
TEST(WeightedAdvantageTest, HandWorkedNumbersWithAnotherBehaviourPolicy) {
  using Row = std::array<float, 5>;
  const Row ratio = {2.0f, 0.5f, 0.25f, 4.0f, 0.5f}, reward = {1, 0, 2, 1, 1};
  const Row value = {2, 1, 4, 2, 3}, next_value = {1, 99, 2, 6, 2};
  const std::array<std::uint8_t, 5> flags = {kFirst, kTerminatedFlag, kFirst, kTruncatedFlag,
                                             kFirst};
  Row log_ratio, target, advantage;
  for (std::size_t i = 0; i < ratio.size(); ++i) log_ratio[i] = std::log(ratio[i]);
  for (const float level : {1.0f, 3.0f}) {
    for (const float lambda : {0.0f, 0.8f, 1.0f}) {
      Vtrace({.gamma = 0.5, .lambda = lambda, .rho_pg_bar = level}, log_ratio, reward, flags, value,
             next_value, target, advantage);
      const Row correction = {-0.5f - 0.25f * lambda, -0.5f, -0.25f + 0.25f * lambda, 2.0f, -0.5f};
      const Row unweighted = {-0.5f - 0.25f * lambda, -1.0f, -1.0f + lambda, 2.0f, -1.0f};
      const Row weight = {std::min(level, 2.0f), 0.5f, 0.25f, std::min(level, 4.0f), 0.5f};
      for (std::size_t i = 0; i < ratio.size(); ++i) {
        EXPECT_NEAR(target[i], value[i] + correction[i], 1e-6) << i << " " << lambda;
        EXPECT_NEAR(advantage[i], weight[i] * unweighted[i], 1e-6) << i << " " << lambda;
      }
    }
  }
}

// The documented loss in double, of three rows of which one counts for half and one for nothing.
double DocumentedLoss(const std::vector<double>& log_prob, const std::vector<double>& entropy,
                      const std::vector<double>& value) {
  const double weight[] = {1.0, 0.5, 0.0}, advantage[] = {1.5, -2.0, 7.0};
  const double target[] = {0.25, 2.0, -3.0};
  double sum = 0.0;
  for (std::size_t i = 0; i < 3; ++i)
    sum += weight[i] *
           (-advantage[i] * log_prob[i] +
            0.3 * 0.5 * (value[i] - target[i]) * (value[i] - target[i]) - 0.02 * entropy[i]);
  return sum / 1.5;
}

TEST(PolicyGradientLossTest, GradientsAreThoseOfFiniteDifferences) {
  const std::vector<float> log_prob = {-0.5f, -1.25f, -0.1f}, entropy = {0.7f, 0.3f, 0.9f};
  const std::vector<float> value = {1.0f, -0.5f, 4.0f}, behaviour = {-0.6f, -1.0f, -2.0f};
  const std::vector<float> weight = {1.0f, 0.5f, 0.0f}, advantage = {1.5f, -2.0f, 7.0f};
  const std::vector<float> target = {0.25f, 2.0f, -3.0f};
  std::vector<float> d_log_prob(3), d_entropy(3), d_values(3);
  (void)PolicyGradientLoss({.entropy = 0.02f, .value_weight = 0.3f},
                           {3, log_prob.data(), entropy.data(), value.data(), behaviour.data(),
                            advantage.data(), target.data(), weight.data()},
                           d_log_prob.data(), d_entropy.data(), d_values.data());
  const std::vector<float>* const inputs[] = {&log_prob, &entropy, &value};
  const std::vector<float>* const gradients[] = {&d_log_prob, &d_entropy, &d_values};
  for (std::size_t which = 0; which < 3; ++which) {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto loss_at = [&](double change) {
        std::vector<double> at[3];
        for (std::size_t k = 0; k < 3; ++k) at[k].assign(inputs[k]->begin(), inputs[k]->end());
        at[which][i] += change;
        return DocumentedLoss(at[0], at[1], at[2]);
      };
      const double h = 1e-5, difference = (loss_at(h) - loss_at(-h)) / (2 * h);
      EXPECT_NEAR((*gradients[which])[i], difference, 1e-6) << which << ' ' << i;
    }
  }
}

class TorchVtraceTest : public testing::TestWithParam<const char*> {};

TEST_P(TorchVtraceTest, ReturnsAndLossGradientsAreThoseOfTorch) {
  const TorchFixture torch(std::string("vtrace_") + GetParam());
  const std::vector<double> s = torch.Doubles("settings");
  const std::vector<float> value = torch.Floats("value"), reward = torch.Floats("reward");
  const std::vector<std::int32_t> words = torch.Integers("flags"),
                                  action = torch.Integers("action");
  const std::vector<std::uint8_t> flags(words.begin(), words.end());
  const int n = static_cast<int>(value.size());
  std::vector<float> target(n), advantage(n), log_prob(n), entropy(n), weight(n, 1.0f);
  Vtrace({s[0], s[1], s[2], s[3], s[4]}, torch.Floats("log_ratio"), reward, flags, value,
         torch.Floats("next_value"), target, advantage);
  ExpectClose(target, torch.Doubles("target"), 2e-6, 2e-6, "target");
  ExpectClose(advantage, torch.Doubles("advantage"), 2e-6, 2e-6, "advantage");

  const ActionHeadRows head{ActionLayout(Discrete(3))};
  const std::vector<float> logits = torch.Floats("logits");
  const ActionRows rows{n, logits.data(), nullptr, action.data(), nullptr};
  head.Evaluate(rows, log_prob.data(), entropy.data());
  std::vector<float> d_log_prob(n), d_entropy(n), d_values(n), d_logits(3 * n);
  const PolicyLossSums sums = PolicyGradientLoss(
      {.entropy = static_cast<float>(s[5]), .value_weight = static_cast<float>(s[6])},
      {n, log_prob.data(), entropy.data(), value.data(), torch.Floats("behaviour_log_prob").data(),
       advantage.data(), target.data(), weight.data()},
      d_log_prob.data(), d_entropy.data(), d_values.data());
  head.Gradient(rows, d_log_prob.data(), d_entropy.data(), d_logits.data(), nullptr);
  ExpectClose(std::vector<double>{sums.policy_loss, sums.value_loss, sums.entropy},
              torch.Doubles("sums"), 1e-5, 1e-5, "sums");
  ExpectClose(d_logits, torch.Doubles("d_logits"), 1e-6, 1e-5, "d_logits");
  ExpectClose(d_values, torch.Doubles("d_values"), 1e-6, 1e-5, "d_values");
}

INSTANTIATE_TEST_SUITE_P(, TorchVtraceTest,
                         testing::Values("paper", "lambda", "levels", "one_step", "a2c"),
                         [](const auto& test) { return std::string(test.param); });

// A linear model on one number, V(x) = 2 x, pi = 1/2 for both actions: every number on paper.
class LinearPolicyGradientTest : public testing::Test {
 protected:
  /// The gradients of the policy's second bias and the critic's bias.
  std::array<double, 2> Biases(const AlgorithmKind* kind, StalenessPolicy staleness) {
    PlannedAlgorithm algorithm(spec_, Settings(kind, staleness), 1);
    const ParameterLayout& layout = algorithm.layout();
    std::vector<float> parameters(layout.total), gradient(layout.trained_count());
    parameters[layout.Find("value.head.weight").offset] = 2.0f;
    TrainingBatch batch(TrajectoryLayout(spec_.spaces, 4), 1);
    batch.Add(view());
    algorithm.Prepare(parameters, batch);
    EXPECT_TRUE(algorithm.NextGradient(parameters, gradient));
    std::vector<float> untouched = gradient;
    EXPECT_FALSE(algorithm.NextGradient(parameters, untouched)) << "one pass";
    EXPECT_EQ(untouched, gradient);
    return {gradient[layout.Find("policy.head.bias").offset + 1],
            gradient[layout.Find("value.head.bias").offset]};
  }

  /// That of the policy's second bias from each of three minibatches of one row, after the policy
  /// that began the batch has moved.
  std::vector<float> BiasesOfMovedPolicy(const AlgorithmKind* kind, StalenessPolicy staleness) {
    AlgorithmSettings settings = Settings(kind, staleness);
    settings.minibatch = 1;
    PlannedAlgorithm algorithm(spec_, settings, 1);
    const ParameterLayout& layout = algorithm.layout();
    const std::size_t bias = layout.Find("policy.head.bias").offset + 1;
    std::vector<float> parameters(layout.total), gradient(layout.trained_count()), biases;
    parameters[layout.Find("value.head.weight").offset] = 2.0f;
    TrainingBatch batch(TrajectoryLayout(spec_.spaces, 4), 1);
    batch.Add(view());
    algorithm.Prepare(parameters, batch);
    parameters[bias] = 2.0f;
    while (algorithm.NextGradient(parameters, gradient)) biases.push_back(gradient[bias]);
    return biases;
  }

  static AlgorithmSettings Settings(const AlgorithmKind* kind, StalenessPolicy staleness) {
    AlgorithmSettings settings;
    settings.kind = kind;
    settings.staleness = staleness;
    settings.trajectory_length = settings.batch_steps = settings.minibatch = 4;
    settings.epochs = 1;
    settings.gamma = 0.5;
    settings.lambda = 0.8;
    settings.value_weight = 0.25;
    settings.normalize_advantage = false;
    return settings;
  }

  /// Values 2, 4, -2; after the last step 2. mu of what was done 1/2, 0.4, 0.8.
  TrajectoryView view() const {
    TrajectoryView view;
    view.steps = 3;
    view.version = 1;
    view.observation = RowsOf(observation_);
    view.action = action_;
    view.log_prob = log_prob_;
    view.reward = reward_;
    view.flags = flags_;
    view.next_observation = RowsOf(next_);
    return view;
  }

  const PolicyAndValue spec_{
      .spaces = {Box({1}), Discrete(2)}, .trunk = {}, .separate_value = true};
  const std::vector<float> observation_ = {1, 2, -1}, reward_ = {1, 0, 2}, next_ = {1};
  const std::vector<float> log_prob_ = {std::log(0.5f), std::log(0.4f), std::log(0.8f)};
  const std::vector<std::int32_t> action_ = {0, 1, 1};
  const std::vector<std::uint8_t> flags_ = {kFirst, kTerminatedFlag, kFirst};
};

// errors: 1 + 0.5 * 4 - 2 = 1; 0 - 4 = -4; 2 + 0.5 * 2 + 2 = 5. Ratios 1, 1.25, 0.625.
// v - V: 1 + 0.5 * 0.8 * -4 = -0.6; -4; 0.625 * 5 = 3.125. A: -0.6; 1 * -4; 0.625 * 5.
// By the second logit: -1/3 sum A (1[a = 1] - 1/2) = -1/3 (0.3 - 2 + 1.5625).
// By the critic's bias: 0.25 / 3 sum (V - v) = -0.25 / 3 (-0.6 - 4 + 3.125).
TEST_F(LinearPolicyGradientTest, ImpalaWeighsTheAdvantageOnce) {
  const auto [policy, critic] = Biases(AlgorithmNamed("impala"), StalenessPolicy::kVtrace);
  EXPECT_NEAR(policy, 0.1375 / 3, 1e-6);
  EXPECT_NEAR(critic, 0.25 * 1.475 / 3, 1e-6);
}

// The same with all ratios 1: A = v - V = -0.6, -4, 5.
TEST_F(LinearPolicyGradientTest, A2cTakesExperienceForFresh) {
  const auto [policy, critic] = Biases(AlgorithmNamed("a2c"), StalenessPolicy::kBlock);
  EXPECT_NEAR(policy, -(0.3 - 2 + 2.5) / 3, 1e-6);
  EXPECT_NEAR(critic, -0.25 * 0.4 / 3, 1e-6);
}

// The policy moves by 2 of its second logit after the batch was begun: p(1) = 0.8808; mu of what was
// done was 1/2, 0.4, 0.8. Row 0 (its action less likely than 0.8 mu, A < 0) has moved as far as it
// may. Row 1 has A = -4 and a ratio of 2.202, row 2 A = 5 and 1.101: -r A (1 - p(1)).
TEST_F(LinearPolicyGradientTest, LaterMinibatchesMoveAnActionNoFurtherThanTheClip) {
  for (const auto& [name, staleness] :
       {std::pair("impala", StalenessPolicy::kVtrace), std::pair("a2c", StalenessPolicy::kBlock)}) {
    EXPECT_THAT(BiasesOfMovedPolicy(AlgorithmNamed(name), staleness),
                testing::UnorderedElementsAre(0.0f, testing::FloatNear(1.04994f, 1e-4f),
                                              testing::FloatNear(-0.65621f, 1e-4f)))
        << name;
  }
}

std::vector<float> MeanGradient(const ModelSpec& spec, AlgorithmSettings settings, int minibatch) {
  settings.minibatch = minibatch;
  PlannedAlgorithm algorithm(spec, settings, 1);
  const std::size_t total = algorithm.layout().total, trained = algorithm.layout().trained_count();
  std::vector<float> parameters(total), gradient(trained), sum(trained);
  InitializeParameters(spec, 5, parameters);
  const TrajectoryLayout layout(spec, settings.trajectory_length);
  TrainingBatch batch(layout, 4);
  const std::vector<float> state0(layout.state_floats, 0.3f);
  std::vector<ExampleTrajectory> played;
  for (std::uint32_t agent = 0; agent < 4; ++agent) played.emplace_back(agent, 1, 8);
  for (const ExampleTrajectory& trajectory : played) {
    TrajectoryView view = trajectory.view();
    view.state0 = state0;
    batch.Add(view);
  }
  algorithm.Prepare(parameters, batch);
  int minibatches = 0;
  for (; algorithm.NextGradient(parameters, gradient); ++minibatches) {
    for (std::size_t i = 0; i < trained; ++i) sum[i] += gradient[i];
  }
  EXPECT_EQ(minibatches, settings.batch_steps / minibatch);
  for (float& number : sum) number /= static_cast<float>(minibatches);
  return sum;
}

/// The loss of `named` for batches of several minibatches, too.
template <LossForm::Kind kLoss, bool kWeighs>
AlgorithmKind WithLoss(const char* named) {
  AlgorithmKind kind = *AlgorithmNamed(named);
  kind.make = [](const ModelSpec& spec, const AlgorithmSettings& settings) {
    return MakeOnPolicy(spec, settings, {.kind = kLoss, .weighs_advantage = kWeighs});
  };
  return kind;
}

/// With the whole batch as its minibatch an Algorithm goes forward once: what it then goes
/// backward through, and what followed truncations and ends, must not differ from a pass of its
/// own.
TEST(OnePassTest, ItsGradientIsTheMeanOfTheMinibatches) {
  using Kind = LossForm::Kind;
  for (const AlgorithmKind& kind : {WithLoss<Kind::kClippedRatio, false>("ppo"),
                                    WithLoss<Kind::kPolicyGradient, true>("impala"),
                                    WithLoss<Kind::kPolicyGradient, false>("a2c")}) {
    for (const char* last : {"dense 5", "gru 5", "lstm 5"}) {
      PolicyAndValue spec = ExampleSpec();
      const Activation tanh = Activation::kTanh;
      spec.trunk.push_back(*Layer::Parse(last, &tanh));
      spec.separate_value = !spec.trunk.back().recurrent();
      AlgorithmSettings settings = ExamplePpo();
      settings.kind = &kind;
      settings.epochs = 1;
      settings.entropy = 0.01;
      const std::vector<float> once = MeanGradient(spec, settings, 32);
      const std::vector<float> twice = MeanGradient(spec, settings, 16);
      double length = 0;
      for (std::size_t i = 0; i < once.size(); ++i) {
        EXPECT_NEAR(once[i], twice[i], 2e-6 + 1e-4 * std::abs(twice[i])) << last << i;
        length += once[i] * once[i];
      }
      EXPECT_GT(length, 1e-4);
    }
  }
}

}  // namespace
}  // namespace murmurate
