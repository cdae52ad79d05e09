// TD3: its gradients against finite differences of the losses as their definitions say, with the
// noise fixed, and a policy that waits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "server/learn/host_trainer.h"
#include "shared/model/policy_and_value.h"
#include "tests/learn/replay_loss.h"

namespace murmurate {
namespace {

AlgorithmSettings Settings() {
  AlgorithmSettings settings = SmallReplay("td3");
  settings.policy.every = 2;
  settings.policy.target_noise = 0.5;
  settings.policy.target_noise_clip = 0.4;
  return settings;
}

ModelSpec Spec() { return *SmallNetworks(Settings(), Box({2}, {-2, 0}, {2, 10})); }

TEST(Td3ModelTest, IsAPolicyTwoCriticsAndATargetOfEach) {
  const ModelSpec spec = Spec();
  ASSERT_EQ(spec.networks.size(), 6u);
  EXPECT_EQ(spec.Find("target_policy")->follows, "policy");
  EXPECT_EQ(spec.Find("target_q2")->follows, "q2");
  EXPECT_TRUE(spec.continuous.deterministic && spec.continuous.squashed);
  EXPECT_EQ(*ModelSpec::Parse(spec.ToText()), spec);
}

TEST(Td3ModelTest, RefusesChoicesAndNumbersWithoutBounds) {
  EXPECT_FALSE(SmallNetworks(Settings(), Discrete(2)).ok());
  EXPECT_FALSE(SmallNetworks(Settings(), Box({2})).ok());
  EXPECT_FALSE(SmallNetworks(Settings(), Dict({{"a", Discrete(2)}, {"b", Box({1}, -1, 1)}})).ok());
}

class Td3Test : public ReplayLossTest {
 protected:
  Td3Test() : ReplayLossTest(Settings(), Spec(), false) {
    for (std::int32_t& word : windows_.batch.action)  // played: -1 to 1
      word = std::bit_cast<std::int32_t>(std::tanh(std::bit_cast<float>(word)));
  }

  double CriticLoss(const char* network, std::size_t update,
                    std::span<const float> parameters) const {
    Random random(DeriveSeed(plan_->seed, update));
    double loss = 0.0;
    for (const std::int32_t row : Rows(update)) {
      const double noise[] = {random.Normal(), random.Normal()};
      const auto found = windows_.ReturnFrom(row, settings_.n_step, settings_.gamma);
      double y = found.reward;
      if (found.after != nullptr) {
        std::vector<float> next = Run("target_policy", parameters_, found.after, nullptr);
        for (std::size_t i = 0; i < 2; ++i)
          next[i] = static_cast<float>(std::clamp(
              std::tanh(double{next[i]}) + std::clamp(0.5 * noise[i], -0.4, 0.4), -1.0, 1.0));
        const float a = Run("target_q1", parameters_, found.after, next.data())[0],
                    b = Run("target_q2", parameters_, found.after, next.data())[0];
        y += found.discount * double{std::min(a, b)};
      }
      const std::int32_t* const words = &windows_.batch.action[static_cast<std::size_t>(row) * 2];
      const float action[] = {std::bit_cast<float>(words[0]), std::bit_cast<float>(words[1])};
      const double error = double{Run(network, parameters, Observation(row), action)[0]} - y;
      loss += 0.5 * double{windows_.batch.weight[static_cast<std::size_t>(row)]} * error * error;
    }
    return loss / static_cast<double>(Rows(update).size());
  }
  double PolicyLoss(std::size_t update, std::span<const float> parameters) const {
    double loss = 0.0;
    for (const std::int32_t row : Rows(update)) {
      std::vector<float> action = Run("policy", parameters, Observation(row), nullptr);
      for (float& number : action) number = std::tanh(number);
      loss -= double{Run("q1", parameters_, Observation(row), action.data())[0]};
    }
    return loss / static_cast<double>(Rows(update).size());
  }
};

TEST_F(Td3Test, GradientsAreThoseOfTheLosses) {
  ASSERT_EQ(plan_->updates.size(), 2u);
  for (std::size_t update = 0; update < 2; ++update) {
    ASSERT_TRUE(algorithm_->Gradient(update, parameters_, gradient_));
    for (const char* critic : {"q1", "q2"})
      Compare(critic, [&](const auto& at) { return CriticLoss(critic, update, at); });
    if (update == 1)
      Compare("policy", [&](const auto& at) { return PolicyLoss(update, at); });
    else
      Compare("policy", [](const auto&) { return 0.0; });
  }
}

TEST_F(Td3Test, ThePolicyAndTheTargetsWaitForTheCritics) {
  HostTrainer trainer(spec_, settings_);
  trainer.SetParameters(parameters_);
  const auto of = [&](const char* tensor) {
    return trainer.parameters()[layout_.Find(tensor).offset];
  };
  const auto was = [&](const char* tensor) { return parameters_[layout_.Find(tensor).offset]; };
  BatchPlan one = *plan_;
  one.updates.pop_back();
  ASSERT_TRUE(trainer.Open(1, false));
  trainer.Begin(windows_.batch, one);
  EXPECT_EQ(trainer.Finish().updates, 1u);
  EXPECT_EQ(of("policy.0.weight"), was("policy.0.weight"));
  EXPECT_EQ(of("target_q1.0.weight"), was("target_q1.0.weight"));
  EXPECT_NE(of("q1.0.weight"), was("q1.0.weight"));
  ASSERT_TRUE(trainer.Open(2, false));
  one.updates = {plan_->updates[1]};
  trainer.Begin(windows_.batch, one);
  EXPECT_EQ(trainer.Finish().updates, 1u);
  EXPECT_NEAR(std::abs(of("policy.0.weight") - was("policy.0.weight")), 3e-4, 3e-5)
      << "Adam's first step is nearly the rate: its count did not go on while the policy waited";
  EXPECT_NE(of("target_q1.0.weight"), was("target_q1.0.weight"));
  EXPECT_NE(of("target_policy.0.weight"), was("target_policy.0.weight"));
}

}  // namespace
}  // namespace murmurate
