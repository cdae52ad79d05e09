#include "server/parameters/network_store.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "server/parameters/local_store.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

class NetworkStoreTest : public testing::Test {
 protected:
  NetworkStoreTest() : gradient_(layout_.trained_count()), parameters_(layout_.trained_count()) {
    Random random(3);
    for (float& number : gradient_) number = random.Uniform() - 0.5f;
  }
  NetworkStore Make(double max_norm = 0.0) const { return {spec_, layout_, settings_, max_norm}; }

  const ModelSpec spec_ =
      PolicyAndValue{.spaces = {Box({3}), Discrete(2)}, .trunk = {{5, Activation::kTanh}}}.ToSpec();
  const ParameterLayout layout_{spec_};
  const OptimizerSettings settings_ = {};
  std::vector<float> gradient_, parameters_;
};

TEST_F(NetworkStoreTest, NetworksLieOneBehindTheOther) {
  const std::vector<SectionRange> ranges = TrainedNetworks(spec_, layout_);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].offset, 0u);
  EXPECT_EQ(ranges[1].offset, layout_.Find("value.0.weight").offset);
  EXPECT_EQ(ranges[0].count, ranges[1].offset);
  EXPECT_EQ(ranges[1].offset + ranges[1].count, layout_.trained_count());
}

TEST_F(NetworkStoreTest, AllOfThemTogetherAreSteppedAsOneBlock) {
  NetworkStore store = Make(0.5);
  LocalStore whole(MakeOptimizer(settings_, layout_, {0, layout_.trained_count()}), 0.5);
  std::vector<float> expected = parameters_;
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(store.Step(0.1, gradient_, parameters_), whole.Step(0.1, gradient_, expected),
                1e-5);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(parameters_[i], expected[i], 1e-6);
  EXPECT_EQ(store.updates(), 3u);
}

TEST_F(NetworkStoreTest, ANetworkThatWaitsDoesNotAge) {
  NetworkStore store = Make(), alone = Make();
  const std::size_t value = TrainedNetworks(spec_, layout_)[1].offset;
  std::vector<float> expected = parameters_;
  for (const std::uint32_t networks : {3u, 2u, 2u, 3u}) {
    const std::vector<float> before = parameters_;
    store.StepNetworks(networks, 0.1, gradient_, parameters_);
    EXPECT_NE(parameters_[value], before[value]);
    if (networks == 3u) alone.Step(0.1, gradient_, expected);
    for (std::size_t i = 0; i < value; ++i) ASSERT_EQ(parameters_[i], expected[i]);
    for (float& number : gradient_) number *= networks == 3u ? 1.0f : -1.0f;
  }
  EXPECT_EQ(store.updates(), 4u);
  EXPECT_EQ(alone.updates(), 2u);
}

TEST_F(NetworkStoreTest, ClipsByWhatIsStepped) {
  NetworkStore store = Make(1e-3);
  for (std::size_t i = 0; i < TrainedNetworks(spec_, layout_)[0].count; ++i)
    gradient_[i] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isfinite(store.StepNetworks(2u, 0.1, gradient_, parameters_)));
  EXPECT_FALSE(std::isfinite(store.Step(0.1, gradient_, parameters_)));
  EXPECT_EQ(store.updates(), 1u) << "one that is not finite is left out";
}

TEST_F(NetworkStoreTest, GoesOnFromWhatItSaved) {
  NetworkStore store = Make(), other = Make();
  store.Step(0.1, gradient_, parameters_);
  store.StepNetworks(2u, 0.1, gradient_, parameters_);
  SavedState state;
  store.Save(StateWriter(&state, "optimizer"));
  ASSERT_TRUE(other.Load(StateReader(state, "optimizer")).ok());
  std::vector<float> copy = parameters_;
  store.Step(0.1, gradient_, parameters_);
  other.Step(0.1, gradient_, copy);
  EXPECT_EQ(parameters_, copy);
  EXPECT_EQ(other.updates(), 3u);
}

}  // namespace
}  // namespace murmurate
