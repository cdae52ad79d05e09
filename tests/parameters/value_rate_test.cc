// The networks that only the learner has step at a rate of their own, wherever a block is stepped.
#include "server/parameters/value_rate.h"

#include <gmock/gmock.h>

#include "server/parameters/local_store.h"
#include "server/parameters/tensor_ranges.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

using Name = OptimizerSettings::Name;

class ValueRateOf : public testing::TestWithParam<Name> {};
INSTANTIATE_TEST_SUITE_P(, ValueRateOf,
                         testing::Values(Name::kAdam, Name::kRmsProp, Name::kSgd, Name::kMomentum,
                                         Name::kAdagrad),
                         [](const auto& test) { return std::string(TextOf(test.param)); });

/// After 30 steps without clipping.
Bowl Descended(const OptimizerSettings& optimizer, double rate) {
  Bowl bowl(7);
  LocalStore store(MakeOptimizer(optimizer, bowl.layout, {0, bowl.target.size()}), 0.0);
  EXPECT_TRUE(bowl.Descend(store, rate, 30));
  return bowl;
}

TEST_P(ValueRateOf, TheValueStepsAsAtItsOwnRateAndThePolicyAsBefore) {
  const OptimizerSettings plain{.name = GetParam(), .weight_decay = 0.1f};
  OptimizerSettings faster = plain;
  faster.value_rate = 3.0f;
  const Bowl slow = Descended(plain, 0.01), fast = Descended(plain, 0.03),
             both = Descended(faster, 0.01);
  for (const TensorSlot& tensor : both.layout.tensors) {
    const bool value = tensor.name.starts_with("value.");
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      if (value) {
        EXPECT_NEAR(both.parameters[i], fast.parameters[i], 3e-6) << tensor.name;
      } else {
        EXPECT_EQ(both.parameters[i], slow.parameters[i]) << tensor.name;
      }
    }
  }
  EXPECT_NE(slow.parameters[both.layout.Find("value.0.weight").offset],
            fast.parameters[both.layout.Find("value.0.weight").offset]);
}

TEST_P(ValueRateOf, ShardsOfOneModelHaveTheBitsOfTheLocalStore) {
  ShardSettings settings;
  settings.rule = {.name = RuleName::kAsgd, .form = PushForm::kGradient, .window = 1};
  settings.optimizer = {.name = GetParam(), .weight_decay = 0.1f, .value_rate = 0.3f};
  Bowl here = Descended(settings.optimizer, 0.02);
  for (const int shards : {1, 3}) {
    Bowl there(7);
    LiveCluster cluster(Transport::kMessages, settings, shards);
    const auto worker = cluster.NewWorker(0);
    ASSERT_TRUE(there.Descend(*worker, 0.02, 30)) << cluster.failure;
    EXPECT_TRUE(std::ranges::equal(there.trained(), here.trained())) << shards;
  }
}

TEST_P(ValueRateOf, OneIsNotSaidAndAnotherIsWhereShardsAndWorkersCompareTheirRules) {
  ShardSettings settings, other;
  settings.optimizer.name = other.optimizer.name = GetParam();
  other.optimizer.value_rate = 3.0f;
  EXPECT_THAT(settings.ToText(), testing::HasSubstr(" 0, max_grad_norm "));
  EXPECT_THAT(other.ToText(), testing::HasSubstr(" 0 3, max_grad_norm "));
}

TEST(ValueRate, OfASharedTrunkOnlyTheHeadIsTheValues) {
  const auto spec = ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 4\naction discrete 2\ndense 16 tanh\n"
      "separate_value 0\nnormalize_observation 0\n");
  ASSERT_TRUE(spec.ok()) << spec.status();
  const ParameterLayout layout(*spec);
  const auto values = RangesOf(layout, {0, layout.trained_count()}, IsOfLearner);
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0].offset, layout.Find("value.head.weight").offset);
  EXPECT_EQ(values[1].offset, layout.Find("value.head.bias").offset);
}

}  // namespace
}  // namespace murmurate
