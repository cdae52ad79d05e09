// Our networks, loss and optimizer against PyTorch's numbers (tests/fixtures/torch_*.txt).
#include <algorithm>
#include <cmath>

#include "server/compute/vector_math.h"
#include "server/network/action_head_rows.h"
#include "server/network/actor_critic.h"
#include "server/network/policy_loss.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/compute/torch_fixture.h"

namespace murmurate {
namespace {

struct Case {
  std::string name;
  std::vector<Layer> trunk;
};

class TorchTest : public testing::TestWithParam<Case> {
 protected:
  TorchTest() : fixture(GetParam().name) {
    const std::vector<std::int32_t> shape = fixture.Integers("shape");
    spec.spaces = {Box({shape[0]}), Discrete(shape[1])};
    rows = shape[2];
    spec.trunk = GetParam().trunk;
    spec.separate_value = shape[3] != 0;
    spec.normalize_observation = shape[4] != 0;
    observations = fixture.Floats("observations");
    parameters.resize(ParameterLayout(spec).total);
    for (const TensorSlot& slot : ParameterLayout(spec).tensors) {
      std::string key = slot.name;
      if (slot.section == Section::kStatistics) key = key.substr(key.rfind('.') + 1);
      if (key == "count") continue;
      std::ranges::copy(fixture.Floats(key), parameters.begin() + slot.offset);
    }
    logits.resize(rows * shape[1]);
    values.resize(rows);
  }

  PolicyLossSums Loss(std::vector<float>* d_logits, std::vector<float>* d_values) {
    const std::vector<float> s = fixture.Floats("settings");
    d_logits->resize(logits.size());
    d_values->resize(values.size());
    const std::vector<std::int32_t> action = fixture.Integers("action");
    const ActionHeadRows head{ActionLayout(spec.spaces.action)};
    const ActionRows batch{rows, logits.data(), nullptr, action.data(), nullptr};
    std::vector<float> log_prob(values.size()), entropy(log_prob), d_log_prob(log_prob);
    std::vector<float> d_entropy(log_prob);
    head.Evaluate(batch, log_prob.data(), entropy.data());
    const PolicyLossSums sums = ClippedPolicyLoss(
        {.clip = s[0], .entropy = s[1], .value_weight = s[2]},
        {rows, log_prob.data(), entropy.data(), values.data(),
         fixture.Floats("behaviour_log_prob").data(), fixture.Floats("advantage").data(),
         fixture.Floats("value_target").data(), fixture.Floats("weight").data()},
        d_log_prob.data(), d_entropy.data(), d_values->data());
    head.Gradient(batch, d_log_prob.data(), d_entropy.data(), d_logits->data(), nullptr);
    return sums;
  }

  TorchFixture fixture;
  PolicyAndValue spec;
  int rows = 0;
  std::vector<float> observations, parameters, logits, values;
};

TEST_P(TorchTest, ForwardGivesTheSameLogitsAndValues) {
  ActorCritic network(spec, rows);
  network.Forward(parameters, observations.data(), rows, logits.data(), values.data());
  ExpectClose(logits, fixture.Doubles("logits"), 2e-6, 2e-6, "logits");
  ExpectClose(values, fixture.Doubles("values"), 2e-6, 2e-6, "values");
}

TEST_P(TorchTest, PolicyGivesTheSameLogits) {
  const ParameterLayout layout(spec);
  Policy policy(spec);
  policy.Pack({parameters.data() + layout.published.offset, layout.published.count},
              {parameters.data() + layout.statistics.offset, layout.statistics.count});
  std::vector<float> scratch(policy.ScratchFloats(rows));
  policy.Forward(observations.data(), rows, logits.data(), scratch.data());
  ExpectClose(logits, fixture.Doubles("logits"), 2e-6, 2e-6, "logits");
}

TEST_P(TorchTest, LossGradientsAndOneClippedAdamStepAreTheSame) {
  ActorCritic network(spec, rows + 3);
  network.Forward(parameters, observations.data(), rows, logits.data(), values.data());
  std::vector<float> d_logits, d_values;
  const PolicyLossSums sums = Loss(&d_logits, &d_values);
  ExpectClose(std::vector<double>{sums.weight, sums.policy_loss, sums.value_loss, sums.entropy,
                                  sums.approx_kl, sums.clipped},
              fixture.Doubles("sums"), 1e-5, 1e-5, "sums");
  ExpectClose(d_logits, fixture.Doubles("d_logits"), 1e-6, 1e-5, "d_logits");
  ExpectClose(d_values, fixture.Doubles("d_values"), 1e-6, 1e-5, "d_values");

  const std::size_t count = network.layout().trained_count();
  std::vector<float> gradient(count), first(count), second(count);
  network.Backward(parameters, d_logits.data(), d_values.data(), gradient);
  const float norm = Norm(gradient);
  EXPECT_NEAR(norm, fixture.Doubles("gradient_norm")[0], 1e-5 * norm);
  AdamStep({.learning_rate = 2e-3f, .epsilon = 1e-5f}, 1, std::min(1.0f, 0.05f / (norm + 1e-6f)),
           gradient, first, second, std::span(parameters).first(count));
  for (const TensorSlot& slot : network.layout().tensors) {
    if (slot.section == Section::kStatistics) continue;
    ExpectClose(std::span(gradient).subspan(slot.offset, slot.count),
                fixture.Doubles("gradient." + slot.name), 2e-6, 2e-5, "gradient of " + slot.name);
    ExpectClose(std::span(parameters).subspan(slot.offset, slot.count),
                fixture.Doubles("stepped." + slot.name), 2e-6, 2e-6, slot.name + " after a step");
  }
}

constexpr Activation kNone = Activation::kNone, kTanh = Activation::kTanh;
constexpr Activation kRelu = Activation::kRelu;
INSTANTIATE_TEST_SUITE_P(, TorchTest,
                         testing::Values(Case{"separate_tanh", {{8, kTanh}, {8, kTanh}}},
                                         Case{"shared_mixed", {{17, kRelu}, {9, kTanh}}},
                                         Case{"separate_relu", {{6, kNone}, {19, kRelu}}}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace murmurate
