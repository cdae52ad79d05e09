// What a merge may never do to a center: leave it not finite, or write what is out as an answer.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "server/parameters/apply.h"
#include "shared/model/parameter_layout.h"
#include "tests/parameters/live_cluster.h"
#include "tests/parameters/plain_shard.h"

namespace murmurate {
namespace {

using testing::Each;
using testing::HasSubstr;

/// The bad number is in the last of several pieces that are stepped one by one.
TEST(Shard, APushThatIsNotFiniteLeavesTheCenterAsItWas) {
  const auto spec = ModelSpec::Parse(
      "murmurate-model 1\nobservation float32 64\naction discrete 2\ndense 64 tanh\n"
      "separate_value 1\nnormalize_observation 0\n");
  ASSERT_TRUE(spec.ok());
  Shard shard(PlainAsgd(), 0, 1, [](LogLevel, std::string_view) {});
  const auto joined = shard.Join(1, JoinOf(*spec, PlainAsgd()), 0);
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  ASSERT_GT(joined->count, 3 * 2048u);
  std::vector<float> block(joined->count, 1.0f);
  ASSERT_TRUE(shard.OnPush(1, {}, block, 0).ok());
  block.back() = std::numeric_limits<float>::infinity();
  const wire::Push push{.step = 1, .learning_rate = 0.5};
  EXPECT_THAT(shard.OnPush(1, push, block, 0).message(), HasSubstr("not finite"));
  EXPECT_THAT(shard.center(), Each(1.0f));
  EXPECT_EQ(shard.version(), 0u);
  block.back() = 1.0f;
  EXPECT_TRUE(shard.OnPush(1, push, block, 0).ok());
  EXPECT_THAT(shard.center(), Each(0.5f));
  EXPECT_EQ(shard.version(), 1u);
}

TEST(Shard, ABeginningThatIsNotFiniteIsNone) {
  Shard shard(PlainAsgd(), 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard.Join(1, JoinOf(SmallSpec(), PlainAsgd()), 0).ok());
  std::vector<float> block(shard.block_floats(), 2.0f);
  block.back() = std::nanf("");
  EXPECT_THAT(shard.OnPush(1, {}, block, 0).message(), HasSubstr("not finite"));
  EXPECT_TRUE(shard.empty());
  EXPECT_TRUE(shard.PopAnswers().empty());
  block.back() = 2.0f;
  EXPECT_TRUE(shard.OnPush(1, {}, block, 0).ok());
  EXPECT_FALSE(shard.empty());
  EXPECT_THAT(shard.center(), Each(2.0f));
}

/// What is finite itself, but would not leave the parameters so: by plain SGD it is seen in the
/// next center, by all others in the push.
class AnyRule : public testing::TestWithParam<ShardSettings> {};
TEST_P(AnyRule, APushThatWouldOverflowTheCenterLeavesItAsItWas) {
  const ShardSettings settings = GetParam();
  Shard shard(settings, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard.Join(1, JoinOf(SmallSpec(), settings), 0).ok());
  std::vector<float> block(shard.block_floats(), 1.0f);
  ASSERT_TRUE(shard.OnPush(1, {}, block, 0).ok());
  block.back() = -3e38f;
  const wire::Push push{.step = 1, .learning_rate = 2.0};
  EXPECT_THAT(shard.OnPush(1, push, block, 0).message(), HasSubstr("lower the learning rate"));
  EXPECT_THAT(shard.center(), Each(1.0f));
  EXPECT_EQ(shard.version(), 0u);
  block.back() = -3e17f;
  EXPECT_TRUE(shard.OnPush(1, push, block, 0).ok());
  EXPECT_EQ(shard.version(), 1u);
  for (const float value : shard.center()) EXPECT_TRUE(std::isfinite(value));
}

/// They come in the same block, but are right by themselves.
TEST_P(AnyRule, APushThatIsRefusedLeavesWhatItsWorkerHadSeenAsItWas) {
  const ShardSettings settings = GetParam();
  const ModelSpec spec = SmallSpec(true);
  const ParameterLayout layout(spec);
  Shard shard(settings, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard.Join(1, JoinOf(spec, settings), 0).ok());
  const std::size_t count = shard.range().count - layout.statistics.offset +
                            layout.Find("statistics.observation.count").offset;
  std::vector<float> block(shard.block_floats(), 1.0f);
  block[count] = 10.0f;
  ASSERT_TRUE(shard.OnPush(1, {}, block, 0).ok());
  block[0] = -3e38f;
  block[count] = 20.0f;
  EXPECT_FALSE(shard.OnPush(1, {.step = 1, .learning_rate = 2.0}, block, 0).ok());
  (void)shard.PopAnswers();
  ASSERT_TRUE(shard.OnPush(1, {}, {}, 0).ok());
  EXPECT_EQ(shard.PopAnswers().at(0).block->floats()[count], 10.0f);
  block[0] = 1.0f;
  ASSERT_TRUE(shard.OnPush(1, {.step = 1, .learning_rate = 2.0}, block, 0).ok());
  EXPECT_EQ(shard.PopAnswers().at(0).block->floats()[count], 20.0f);
}

ShardSettings Of(RuleName name, PushForm form, OptimizerSettings::Name optimizer) {
  ShardSettings settings = PlainAsgd();
  settings.rule = {.name = name, .form = form, .window = 1, .elastic = 0.5};
  settings.optimizer.name = optimizer;
  return settings;
}
using Optimizers = OptimizerSettings::Name;
INSTANTIATE_TEST_SUITE_P(
    Rules, AnyRule,
    testing::Values(Of(RuleName::kAsgd, PushForm::kGradient, Optimizers::kSgd),
                    Of(RuleName::kAsgd, PushForm::kGradient, Optimizers::kMomentum),
                    Of(RuleName::kAsgd, PushForm::kGradient, Optimizers::kAdam),
                    Of(RuleName::kAsgd, PushForm::kGradient, Optimizers::kAdagrad),
                    Of(RuleName::kAsgd, PushForm::kGradient, Optimizers::kRmsProp),
                    Of(RuleName::kDownpour, PushForm::kDelta, Optimizers::kSgd),
                    Of(RuleName::kAeasgd, PushForm::kElastic, Optimizers::kSgd),
                    Of(RuleName::kSync, PushForm::kGradient, Optimizers::kSgd),
                    Of(RuleName::kEasgd, PushForm::kElastic, Optimizers::kSgd)));

TEST(AllWithin, CountsTheBorderInAndWhatIsNotFiniteOut) {
  std::vector<float> values(37, -1e18f);
  EXPECT_TRUE(AllWithin(kLargestFloat, values));
  for (const float bad :
       {std::nextafter(kLargestFloat, 2e18f), -2e18f, std::nanf(""),
        std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()}) {
    values[29] = bad;
    EXPECT_FALSE(AllWithin(kLargestFloat, values)) << bad;
  }
}

TEST(SgdStepInto, HasTheBitsOfSgdStepAndSeesWhatOverflows) {
  std::vector<float> from(83), gradient(83), to(83);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = std::sin(static_cast<float>(i));
    gradient[i] = std::cos(static_cast<float>(3 * i));
  }
  const StepFactors factors{.learning_rate = 0.3f, .gradient_scale = 0.7f};
  EXPECT_TRUE(SgdStepInto(factors, from, gradient, to));
  std::vector<float> stepped = from;
  SgdStep(factors, gradient, stepped);
  EXPECT_EQ(to, stepped);
  gradient[80] = 3e38f;
  EXPECT_TRUE(SgdStepInto(factors, from, gradient, to));
  EXPECT_FALSE(SgdStepInto({.learning_rate = 2.0f}, from, gradient, to));
}

class AnyOptimizer : public testing::TestWithParam<OptimizerSettings::Name> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, AnyOptimizer,
                         testing::Values(OptimizerSettings::Name::kSgd,
                                         OptimizerSettings::Name::kMomentum));

/// It is sent as it lies, so what is merged later must not reach it.
TEST_P(AnyOptimizer, AnAnswerIsNotWrittenAnyMore) {
  ShardSettings settings = PlainAsgd();
  settings.optimizer.name = GetParam();
  settings.optimizer.momentum.delta = 0.0f;  // then it steps like plain SGD
  Shard shard(settings, 0, 1, [](LogLevel, std::string_view) {});
  ASSERT_TRUE(shard.Join(1, JoinOf(SmallSpec(), settings), 0).ok());
  const std::vector<float> ones(shard.block_floats(), 1.0f);
  ASSERT_TRUE(shard.OnPush(1, {}, ones, 0).ok());
  const auto answers = shard.PopAnswers();
  ASSERT_EQ(answers.size(), 1u);
  for (std::uint64_t step = 1; step <= 3; ++step)
    ASSERT_TRUE(shard.OnPush(1, {.step = step, .learning_rate = 0.25}, ones, 0).ok());
  EXPECT_THAT(answers[0].block->floats(), Each(1.0f));
  EXPECT_THAT(shard.center(), Each(0.25f));
}

}  // namespace
}  // namespace murmurate
