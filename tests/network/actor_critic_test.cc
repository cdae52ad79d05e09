#include "server/network/actor_critic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

constexpr Activation kNone = Activation::kNone, kTanh = Activation::kTanh;
constexpr Activation kRelu = Activation::kRelu;

PolicyAndValue MakeSpec(int observations, std::vector<Layer> trunk, int actions, bool separate,
                        bool normalize) {
  PolicyAndValue spec;
  spec.spaces = {Box({observations}), Discrete(actions)};
  spec.trunk = std::move(trunk);
  spec.separate_value = separate;
  spec.normalize_observation = normalize;
  return spec;
}

std::vector<float> Normals(std::size_t count, std::uint64_t seed, float scale = 1.0f) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = scale * static_cast<float>(random.Normal());
  return values;
}

/// Every number of the block set, padding left at zero.
std::vector<float> RandomParameters(const ModelSpec& spec) {
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total);
  Random random(9);
  for (const TensorSlot& slot : layout.tensors)
    for (std::size_t i = 0; i < slot.count; ++i)
      parameters[slot.offset + i] = slot.section == Section::kStatistics
                                        ? 0.5f + random.Uniform()
                                        : 0.4f * static_cast<float>(random.Normal());
  return parameters;
}

/// A second network, written from the definition in double.
class Reference {
 public:
  Reference(const ModelSpec& spec, const std::vector<float>& parameters)
      : spec_(spec), layout_(spec), parameters_(parameters.begin(), parameters.end()) {}

  std::vector<double>& parameters() { return parameters_; }

  /// sum over rows of d_logits . logits + d_values values: its gradient is what Backward gives.
  double Dot(const std::vector<float>& observations, int rows, const std::vector<float>& d_logits,
             const std::vector<float>& d_values) const {
    const int n = spec_.spaces.action.n;
    double sum = 0;
    for (int row = 0; row < rows; ++row) {
      const std::vector<double> x = Observation(observations, row);
      const std::vector<double> features = Trunk("policy", x);
      const std::vector<double> logits = Dense("policy.head", features, kNone);
      for (int j = 0; j < n; ++j) sum += d_logits[row * n + j] * logits[j];
      const auto top = spec_.Find("value")->shares.empty() ? Trunk("value", x) : features;
      sum += d_values[row] * Dense("value.head", top, kNone)[0];
    }
    return sum;
  }

 private:
  std::vector<double> Observation(const std::vector<float>& observations, int row) const {
    const int size = spec_.spaces.observation.element_count();
    std::vector<double> x(observations.begin() + row * size,
                          observations.begin() + (row + 1) * size);
    if (!spec_.normalize_observation) return x;
    const double* mean = parameters_.data() + layout_.Find("statistics.observation.mean").offset;
    const double* variance =
        parameters_.data() + layout_.Find("statistics.observation.variance").offset;
    for (int j = 0; j < size; ++j)
      x[j] = std::clamp((x[j] - mean[j]) / std::sqrt(variance[j] + 1e-8), -10.0, 10.0);
    return x;
  }

  std::vector<double> Trunk(const std::string& name, std::vector<double> x) const {
    for (std::size_t i = 0; i < spec_.policy().trunk.size(); ++i)
      x = Dense(name + "." + std::to_string(i), x, spec_.policy().trunk[i].activation);
    return x;
  }

  std::vector<double> Dense(const std::string& name, const std::vector<double>& x,
                            Activation activation) const {
    const TensorSlot& weight = layout_.Find(name + ".weight");
    const int outputs = weight.shape[1];
    const double* w = parameters_.data() + weight.offset;
    const double* bias = parameters_.data() + layout_.Find(name + ".bias").offset;
    std::vector<double> y(bias, bias + outputs);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (int j = 0; j < outputs; ++j) y[j] += x[i] * w[i * outputs + j];
    for (double& v : y) {
      if (activation == kTanh) v = std::tanh(v);
      if (activation == kRelu) v = std::max(v, 0.0);
    }
    return y;
  }

  ModelSpec spec_;
  ParameterLayout layout_;
  std::vector<double> parameters_;
};

class ActorCriticTest : public testing::TestWithParam<ModelSpec> {};

TEST_P(ActorCriticTest, BackwardAgreesWithFiniteDifferences) {
  const ModelSpec& spec = GetParam();
  const int rows = 11, n = spec.spaces.action.n;
  const std::vector<float> observations =
      Normals(rows * spec.spaces.observation.element_count(), 1);
  const std::vector<float> d_logits = Normals(rows * n, 2), d_values = Normals(rows, 3);
  const std::vector<float> parameters = RandomParameters(spec);
  Reference reference(spec, parameters);

  ActorCritic network(spec, rows);
  std::vector<float> logits(rows * n), values(rows);
  std::vector<float> gradient(network.layout().trained_count(), 123.0f);
  network.Forward(parameters, observations.data(), rows, logits.data(), values.data());
  network.Backward(parameters, d_logits.data(), d_values.data(), gradient);
  constexpr double kStep = 1e-6;  // small: no relu may change sides
  for (const TensorSlot& slot : network.layout().tensors) {
    if (slot.section == Section::kStatistics) continue;
    const std::size_t stride = slot.count > 500 ? 7 : 1;  // every one of a small tensor
    for (std::size_t i = slot.offset; i < slot.offset + slot.count; i += stride) {
      double& parameter = reference.parameters()[i];
      parameter += kStep;
      const double above = reference.Dot(observations, rows, d_logits, d_values);
      parameter -= 2 * kStep;
      const double slope =
          (above - reference.Dot(observations, rows, d_logits, d_values)) / (2 * kStep);
      parameter += kStep;
      ASSERT_NEAR(gradient[i], slope, 1e-4 + 1e-5 * std::abs(slope)) << slot.name;
    }
  }
}

TEST_P(ActorCriticTest, ChunksOfManyRowsGiveTheSumOfTheirGradients) {
  const ModelSpec& spec = GetParam();
  const int rows = 301, n = spec.spaces.action.n, size = spec.spaces.observation.element_count();
  const std::vector<float> parameters = RandomParameters(spec);
  const std::vector<float> observations = Normals(rows * size, 1);
  const std::vector<float> d_logits = Normals(rows * n, 2), d_values = Normals(rows, 3);
  ActorCritic together(spec, rows), alone(spec, 1);
  std::vector<float> logits(rows * n), values(rows), logit(n), value(1);
  const std::size_t count = together.layout().trained_count();
  std::vector<float> gradient(count), part(count);
  std::vector<double> sum(count);
  together.Forward(parameters, observations.data(), rows, logits.data(), values.data());
  together.Backward(parameters, d_logits.data(), d_values.data(), gradient);
  for (int row = 0; row < rows; ++row) {
    alone.Forward(parameters, observations.data() + row * size, 1, logit.data(), value.data());
    for (int j = 0; j < n; ++j) ASSERT_NEAR(logits[row * n + j], logit[j], 1e-5);
    ASSERT_NEAR(values[row], value[0], 1e-5);
    alone.Backward(parameters, d_logits.data() + row * n, d_values.data() + row, part);
    for (std::size_t i = 0; i < count; ++i) sum[i] += part[i];
  }
  for (std::size_t i = 0; i < count; ++i)
    ASSERT_NEAR(gradient[i], sum[i], 1e-3 + 1e-5 * std::abs(sum[i])) << i;
}

TEST_P(ActorCriticTest, TheClientsPolicyGivesTheLearnersLogits) {
  const ModelSpec& spec = GetParam();
  const int rows = 150, n = spec.spaces.action.n, size = spec.spaces.observation.element_count();
  const std::vector<float> parameters = RandomParameters(spec);
  const std::vector<float> observations = Normals(rows * size, 1);
  ActorCritic network(spec, rows);
  std::vector<float> logits(rows * n), values(rows), got(rows * n);
  network.Forward(parameters, observations.data(), rows, logits.data(), values.data());
  Policy policy(spec);
  const SectionRange section = network.layout().published, statistics = network.layout().statistics;
  policy.Pack({parameters.data() + section.offset, section.count},
              {parameters.data() + statistics.offset, statistics.count});
  EXPECT_EQ(policy.outputs(), n);
  for (const int batch : {1, 7, 64, 150}) {
    std::vector<float> scratch(policy.ScratchFloats(batch));
    for (int row = 0; row < rows; row += batch)
      policy.Forward(observations.data() + row * size, std::min(batch, rows - row),
                     got.data() + row * n, scratch.data());
    for (int i = 0; i < rows * n; ++i)  // pi/mu = exp of the difference: 1 to 1e-5
      ASSERT_NEAR(got[i], logits[i], 4e-6) << batch << " at " << i;
  }
}

TEST_P(ActorCriticTest, NothingIsAllocatedAfterConstruction) {
  const ModelSpec& spec = GetParam();
  const int rows = 200, n = spec.spaces.action.n;
  const std::vector<float> parameters = RandomParameters(spec);
  const std::vector<float> observations =
      Normals(rows * spec.spaces.observation.element_count(), 1);
  ActorCritic network(spec, rows);
  Policy policy(spec);
  std::vector<float> logits(rows * n), values(rows), scratch(policy.ScratchFloats(rows));
  std::vector<float> gradient(network.layout().trained_count());
  const SectionRange section = network.layout().published, statistics = network.layout().statistics;
  Random random(1);
  const std::uint64_t before = Allocations();
  network.Forward(parameters, observations.data(), rows, logits.data(), values.data());
  network.Backward(parameters, logits.data(), values.data(), gradient);
  policy.Pack({parameters.data() + section.offset, section.count},
              {parameters.data() + statistics.offset, statistics.count});
  policy.Forward(observations.data(), rows, logits.data(), scratch.data());
  policy.Forward(observations.data(), 1, logits.data(), scratch.data());
  (void)ChooseAction(std::span<const float>(logits).first(n), {}, random);
  EXPECT_EQ(Allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(
    , ActorCriticTest,
    testing::Values(MakeSpec(4, {{64, kTanh}, {64, kTanh}}, 2, true, false),
                    MakeSpec(4, {{64, kTanh}, {64, kTanh}}, 2, false, true),
                    MakeSpec(7, {{33, kRelu}, {5, kNone}, {17, kTanh}}, 3, true, true),
                    MakeSpec(3, {{20, kTanh}}, 6, false, false), MakeSpec(5, {}, 4, true, true)));

TEST(ActorCriticFlopsTest, CartPolesNetworkTakes52kPerRow) {
  const PolicyAndValue spec = MakeSpec(4, {{64, kTanh}, {64, kTanh}}, 2, true, false);
  // both towers: 2 * 2 * 4*64 + 3 * 2 * 64*64; heads: 3 * 2 * 64 * (2 + 1)
  EXPECT_EQ(ActorCritic(spec, 1).flops_per_row(), 2 * (1024 + 24576) + 1152);
}

}  // namespace
}  // namespace murmurate
