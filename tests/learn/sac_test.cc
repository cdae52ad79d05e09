// SAC: what it draws, its three gradients against finite differences of the losses as their
// definitions say, with the noise fixed, for numbers and for choices with masks.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/learn/host_trainer.h"
#include "server/learn/replay_planner.h"
#include "server/learn/squashed_numbers.h"
#include "server/learn/temperature.h"
#include "shared/inference/action_head.h"
#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"
#include "tests/learn/replay_loss.h"

namespace murmurate {
namespace {

AlgorithmSettings Settings() {
  AlgorithmSettings settings = SmallReplay("sac");
  settings.target_every = 1;
  settings.policy.initial_temperature = 0.3;
  return settings;
}

ModelSpec SpecOf(const Space& action, bool normalize = false) {
  return *SmallNetworks(Settings(), action, normalize);
}
ModelSpec OfNumbers() { return SpecOf(Box({2}, {-2, 0}, {2, 10})); }
ModelSpec OfChoices() { return SpecOf(MultiDiscrete({3, 2})); }

TEST(SquashedNumbersTest, HaveTheLogProbabilityOfWhatPlays) {
  const ModelSpec spec = OfNumbers();
  const ActionLayout layout(spec.spaces.action, spec.continuous);
  const ActionHead head(layout);
  SquashedNumbers numbers(layout, 3);
  const std::vector<float> outputs{0.1f,  -3.0f, -1.0f, 0.5f, 2.0f,  0.0f,
                                   -2.0f, 3.0f,  0.0f,  0.3f, -2.0f, -2.0f};
  Random random(4), again(4);
  numbers.Draw(outputs.data(), 3, random);
  for (std::size_t row = 0; row < 3; ++row) {
    std::int32_t action[2];
    const double log_prob = double{head.Choose({.outputs = &outputs[row * 4]}, {}, again, action)};
    EXPECT_NEAR(numbers.log_prob(row), log_prob, 1e-4 * std::max(1.0, std::abs(log_prob))) << row;
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_FLOAT_EQ(numbers.actions()[row * 2 + i], std::tanh(std::bit_cast<float>(action[i])));
    float encoded[2];
    numbers.Encode(action, 1, encoded);
    EXPECT_FLOAT_EQ(encoded[1], numbers.actions()[row * 2 + 1]);
  }
}

TEST(SquashedNumbersTest, GoBackToTheOutputs) {
  const ModelSpec spec = OfNumbers();
  SquashedNumbers numbers(ActionLayout(spec.spaces.action, spec.continuous), 2);
  std::vector<float> outputs{0.1f, -1.0f, -1.0f, 0.5f, 0.7f, 0.0f, 2.5f, -21.0f};
  const std::vector<float> d_actions{0.5f, -1.0f, 2.0f, 0.25f};
  const float d_log_prob = 0.3f;
  const auto loss = [&] {
    Random random(9);
    numbers.Draw(outputs.data(), 2, random);
    double sum = double{d_log_prob} * (numbers.log_prob(0) + numbers.log_prob(1));
    for (std::size_t i = 0; i < 4; ++i) sum += double{d_actions[i]} * numbers.actions()[i];
    return sum;
  };
  loss();
  std::vector<float> gradient(8);
  numbers.Gradient(d_actions.data(), d_log_prob, gradient.data());
  for (std::size_t i = 0; i < 8; ++i) {
    constexpr float kBy = 3e-3f;
    const float before = outputs[i];
    outputs[i] = before + kBy;
    const double more = loss();
    outputs[i] = before - kBy;
    EXPECT_NEAR(gradient[i], (more - loss()) / (2 * kBy), 2e-3) << i;
    outputs[i] = before;
  }
  EXPECT_EQ(gradient[6], 0.0f) << "a log deviation above 2 is held";
  EXPECT_EQ(gradient[7], 0.0f) << "and one below -20";
}

TEST(TemperatureTest, FallsWhileThereIsMoreEntropyThanWantedAndRisesElse) {
  Temperature temperature(0.5);
  EXPECT_DOUBLE_EQ(temperature.alpha(), 0.5);
  temperature.Step(0.1, -2.0);  // log pi + target < 0: the entropy is above the target
  EXPECT_NEAR(temperature.alpha(), 0.5 * std::exp(-0.1), 1e-6) << "Adam's first step is the rate";
  SavedState state;
  temperature.Save(StateWriter(&state, "algorithm"));
  Temperature other(1.0);
  ASSERT_TRUE(other.Load(StateReader(state, "algorithm")).ok());
  for (Temperature* one : {&temperature, &other}) one->Step(0.1, 5.0);
  EXPECT_EQ(other.alpha(), temperature.alpha());
  EXPECT_GT(temperature.alpha(), 0.5 * std::exp(-0.1));
  temperature.Step(0.1, NAN);
  EXPECT_EQ(temperature.alpha(), other.alpha()) << "left out";
}

TEST(TemperatureTest, WantsAnEntropyThatSuitsTheAction) {
  const ModelSpec spec = OfNumbers();
  EXPECT_EQ(TargetEntropyOfNumbers(ActionLayout(spec.spaces.action, spec.continuous)), -2.0);
  EXPECT_DOUBLE_EQ(TargetEntropyOfChoices(4), 0.98 * std::log(4.0));
  EXPECT_EQ(TargetEntropyOfChoices(1), 0.0);
}

TEST(SacModelTest, IsAPolicyTwoCriticsAndTheirTargets) {
  for (const ModelSpec& spec : {OfNumbers(), OfChoices()}) {
    ASSERT_EQ(spec.networks.size(), 5u);
    EXPECT_TRUE(spec.networks[0].published && spec.networks[0].trained);
    for (const char* name : {"q1", "q2"}) {
      EXPECT_TRUE(spec.Find(name)->trained && !spec.Find(name)->published);
      EXPECT_EQ(spec.Find(std::string("target_") + name)->follows, name);
    }
    EXPECT_EQ(*ModelSpec::Parse(spec.ToText()), spec);
    EXPECT_TRUE(CheckModel(spec).ok());
  }
  EXPECT_TRUE(OfNumbers().Find("q1")->reads_action);
  EXPECT_EQ(OfNumbers().Find("q1")->outputs, 1);
  EXPECT_FALSE(OfChoices().Find("q1")->reads_action);
  EXPECT_EQ(OfChoices().Find("q1")->outputs, 5);
  EXPECT_TRUE(OfNumbers().continuous.squashed && OfNumbers().continuous.state_dependent_deviation);
}

TEST(SacModelTest, RefusesSwitchesMixturesNumbersWithoutBoundsAndMemory) {
  for (const Space& action :
       {MultiBinary(2), Box({2}), Dict({{"a", Discrete(2)}, {"b", Box({1}, -1, 1)}})})
    EXPECT_FALSE(SmallNetworks(Settings(), action).ok());
  const PolicyAndValue remembers{.spaces = {Box({3}), Box({1}, -1, 1)},
                                 .trunk = {*Layer::Parse("lstm 4")},
                                 .separate_value = false};
  EXPECT_FALSE(Settings().kind->networks(remembers.ToSpec(), Settings()).ok());
}

struct Drawn {
  std::vector<float> action;  ///< tanh(u)
  double log_prob = 0;        ///< of it
};

class SacOfNumbersTest : public ReplayLossTest {
 protected:
  SacOfNumbersTest() : ReplayLossTest(Settings(), OfNumbers(), false) {}

  /// By the definition, from the noise given.
  Drawn Draw(std::span<const float> parameters, const std::byte* observation,
             const double* noise) const {
    const std::vector<float> outputs = Run("policy", parameters, observation, nullptr);
    Drawn drawn;
    for (std::size_t i = 0; i < 2; ++i) {
      const double deviation = std::exp(double{outputs[2 + i]});
      const double u = double{outputs[i]} + deviation * noise[i], a = std::tanh(u);
      drawn.action.push_back(static_cast<float>(a));
      drawn.log_prob += -0.5 * noise[i] * noise[i] - std::log(deviation) -
                        0.5 * std::log(2 * M_PI) - std::log(1 - a * a);
    }
    return drawn;
  }
  /// Noise of an update, in its order: of the next actions, then of those of the policy.
  std::vector<double> Noise(std::size_t update) const {
    Random random(DeriveSeed(plan_->seed, update));
    std::vector<double> noise(4 * Rows(update).size());
    for (double& number : noise) number = static_cast<float>(random.Normal());
    return noise;
  }
  double CriticLoss(const char* network, std::size_t update, double alpha,
                    std::span<const float> parameters) const {
    double loss = 0.0;
    const std::vector<double> noise = Noise(update);
    for (std::size_t i = 0; i < Rows(update).size(); ++i) {
      const std::int32_t row = Rows(update)[i];
      const RandomWindows::Return found =
          windows_.ReturnFrom(row, settings_.n_step, settings_.gamma);
      double y = found.reward;
      if (found.after != nullptr) {
        const Drawn next = Draw(parameters_, found.after, &noise[2 * i]);
        const float a = Run("target_q1", parameters_, found.after, next.action.data())[0],
                    b = Run("target_q2", parameters_, found.after, next.action.data())[0];
        y += found.discount * (double{std::min(a, b)} - alpha * next.log_prob);
      }
      const std::int32_t* const words = &windows_.batch.action[static_cast<std::size_t>(row) * 2];
      const float action[] = {std::tanh(std::bit_cast<float>(words[0])),
                              std::tanh(std::bit_cast<float>(words[1]))};
      const double error = double{Run(network, parameters, Observation(row), action)[0]} - y;
      loss += 0.5 * double{windows_.batch.weight[static_cast<std::size_t>(row)]} * error * error;
    }
    return loss / static_cast<double>(Rows(update).size());
  }
  double PolicyLoss(std::size_t update, double alpha, std::span<const float> parameters) const {
    double loss = 0.0;
    const std::vector<double> noise = Noise(update);
    for (std::size_t i = 0; i < Rows(update).size(); ++i) {
      const std::byte* const here = Observation(Rows(update)[i]);
      const Drawn drawn = Draw(parameters, here, &noise[2 * (Rows(update).size() + i)]);
      const float a = Run("q1", parameters_, here, drawn.action.data())[0],
                  b = Run("q2", parameters_, here, drawn.action.data())[0];
      loss += alpha * drawn.log_prob - double{std::min(a, b)};
    }
    return loss / static_cast<double>(Rows(update).size());
  }
};

TEST_F(SacOfNumbersTest, GradientsAreThoseOfTheLosses) {
  ASSERT_EQ(plan_->updates.size(), 2u);
  double alpha = settings_.policy.initial_temperature;
  for (std::size_t update = 0; update < 2; ++update) {
    ASSERT_TRUE(algorithm_->Gradient(update, parameters_, gradient_));
    for (const char* critic : {"q1", "q2"})
      Compare(critic, [&](const auto& at) { return CriticLoss(critic, update, alpha, at); });
    Compare("policy", [&](const auto& at) { return PolicyLoss(update, alpha, at); });
    SavedState state;
    algorithm_->Save(StateWriter(&state, "algorithm"));
    Temperature now(1.0);
    ASSERT_TRUE(now.Load(StateReader(state, "algorithm")).ok());
    EXPECT_NE(now.alpha(), alpha) << "the temperature is tuned";
    alpha = now.alpha();
  }
  EXPECT_EQ(algorithm_->row_answers().size(), 10u) << "an error for each window";
}

TEST_F(SacOfNumbersTest, AllocatesNothingInAnUpdate) {
  ASSERT_TRUE(algorithm_->Gradient(0, parameters_, gradient_));
  const std::uint64_t before = Allocations();
  ASSERT_TRUE(algorithm_->Gradient(1, parameters_, gradient_));
  EXPECT_EQ(Allocations(), before);
}

class SacOfChoicesTest : public ReplayLossTest {
 protected:
  SacOfChoicesTest() : ReplayLossTest(Settings(), OfChoices(), true) {}

  const std::uint8_t* MaskOf(std::int32_t row) const {
    return row < 0 ? nullptr : &windows_.batch.mask[static_cast<std::size_t>(row) * 5];
  }
  /// Expectation of the smaller value plus alpha times the entropy, by their definitions.
  double SoftValue(std::span<const float> policy_at, const std::byte* observation,
                   const std::uint8_t* mask, double alpha, const char* q1, const char* q2) const {
    const std::vector<float> logits = Run("policy", policy_at, observation, nullptr),
                             a = Run(q1, parameters_, observation, nullptr),
                             b = Run(q2, parameters_, observation, nullptr);
    double value = 0.0;
    for (const auto& [first, end] : {std::pair<std::size_t, std::size_t>{0, 3}, {3, 5}}) {
      double sum = 0.0;
      for (std::size_t c = first; c < end; ++c)
        if (mask == nullptr || mask[c] != 0) sum += std::exp(double{logits[c]});
      for (std::size_t c = first; c < end; ++c) {
        if (mask != nullptr && mask[c] == 0) continue;
        const double p = std::exp(double{logits[c]}) / sum;
        value += p * (double{std::min(a[c], b[c])} / 2 - alpha * std::log(p));
      }
    }
    return value;
  }
  double CriticLoss(const char* network, std::size_t update, double alpha,
                    std::span<const float> parameters) const {
    double loss = 0.0;
    for (const std::int32_t row : Rows(update)) {
      const RandomWindows::Return found =
          windows_.ReturnFrom(row, settings_.n_step, settings_.gamma);
      double y = found.reward;
      if (found.after != nullptr)
        y += found.discount * SoftValue(parameters_, found.after, MaskOf(found.row), alpha,
                                        "target_q1", "target_q2");
      const std::int32_t* const words = &windows_.batch.action[static_cast<std::size_t>(row) * 2];
      const std::vector<float> q = Run(network, parameters, Observation(row), nullptr);
      for (const int output : {words[0], 3 + words[1]}) {
        const double error = double{q[static_cast<std::size_t>(output)]} - y;
        loss += 0.25 * double{windows_.batch.weight[static_cast<std::size_t>(row)]} * error * error;
      }
    }
    return loss / static_cast<double>(Rows(update).size());
  }
};

TEST_F(SacOfChoicesTest, GradientsAreThoseOfTheLosses) {
  ASSERT_TRUE(algorithm_->Gradient(0, parameters_, gradient_));
  const double alpha = settings_.policy.initial_temperature;
  for (const char* critic : {"q1", "q2"})
    Compare(critic, [&](const auto& at) { return CriticLoss(critic, 0, alpha, at); });
  Compare("policy", [&](const auto& at) {
    double loss = 0.0;
    for (const std::int32_t row : Rows(0))
      loss -= SoftValue(at, Observation(row), MaskOf(row), alpha, "q1", "q2");
    return loss / static_cast<double>(Rows(0).size());
  });
}

TEST(SacTrainerTest, MovesTargetsAPartOfTheWayAndGoesOnFromWhatItSaved) {
  const ModelSpec spec = OfNumbers();
  const ParameterLayout layout(spec);
  const AlgorithmSettings settings = Settings();
  AlignedFloats parameters(layout.total);
  InitializeParameters(spec, 4, parameters);
  const TensorSlot &own = layout.Find("q2.0.weight"), &target = layout.Find("target_q2.0.weight");
  const auto learn = [&](HostTrainer& trainer, ReplayPlanner& planner) {
    RandomWindows windows(spec, 5, 4);
    ASSERT_TRUE(trainer.Open(1, false));
    trainer.Begin(windows.batch, planner.Plan(windows.batch, Rates::Of(settings), 0, 1.0));
    planner.Began(trainer.Finish().begun);
  };
  HostTrainer trainer(spec, settings), other(spec, settings);
  ReplayPlanner planner(settings, 3), other_planner(settings, 4);
  trainer.SetParameters(parameters);
  learn(trainer, planner);
  const std::span<const float> now = trainer.parameters();
  EXPECT_NE(now[own.offset], parameters[own.offset]);
  EXPECT_FLOAT_EQ(now[target.offset],
                  parameters[target.offset] + 0.1f * (now[own.offset] - parameters[target.offset]));
  SavedState state;
  trainer.Save(&state);
  planner.Save(StateWriter(&state, "planner"));
  other.SetParameters(trainer.parameters());
  ASSERT_TRUE(other.Load(state).ok());
  ASSERT_TRUE(other_planner.Load(StateReader(state, "planner")).ok());
  learn(trainer, planner);
  learn(other, other_planner);
  EXPECT_TRUE(std::ranges::equal(trainer.parameters(), other.parameters()));
}

}  // namespace
}  // namespace murmurate
