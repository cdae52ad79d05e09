// Sgd, Momentum and Adagrad, on paper, and what is written down of all five.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/parameters/local_store.h"
#include "server/parameters/optimizers.h"
#include "server/parameters/shard.h"

namespace murmurate {
namespace {

using One = std::array<float, 1>;

TEST(SgdTest, ThreeStepsOnPaper) {
  Sgd sgd;
  One x = {4};
  sgd.Step(0.5f, 1.0f, One{2}, x);
  EXPECT_EQ(x[0], 3);
  sgd.Step(0.5f, 0.5f, One{2}, x);  // clipped to a half
  EXPECT_EQ(x[0], 2.5f);
  sgd.Step(0.25f, 1.0f, One{-2}, x);
  EXPECT_EQ(x[0], 3);
  EXPECT_EQ(sgd.steps(), 3u);
}

/// Nesterov's method with delta 1/2 at rate 1/2 on f = x^2/2, so g(y) = y: v <- v/2 - y/2.
TEST(MomentumTest, ThreeStepsOnPaper) {
  LocalStore store(std::make_unique<Momentum>(MomentumSettings{.delta = 0.5f}, 1), 0.0);
  One y = {8};
  store.Step(0.5, One{y[0]}, y);  // v = -4, x = 4, y = 4 - 2
  EXPECT_EQ(y[0], 2);
  store.Step(0.5, One{y[0]}, y);  // v = -2 - 1 = -3, x = 1, y = 1 - 3/2
  EXPECT_EQ(y[0], -0.5f);
  store.Step(0.5, One{y[0]}, y);  // v = -3/2 + 1/4 = -5/4, x = -1/4, y = -1/4 - 5/8
  EXPECT_EQ(y[0], -0.875f);
}

/// The sums of squares are 9, 25 and 169.
TEST(AdagradTest, ThreeStepsOnPaper) {
  Adagrad adagrad({.epsilon = 0.0f}, 1);
  One x = {4};
  adagrad.Step(0.5f, 1.0f, One{3}, x);
  EXPECT_EQ(x[0], 3.5f);
  adagrad.Step(0.5f, 2.0f, One{-2}, x);  // scaled to -4
  EXPECT_NEAR(x[0], 3.5 + 0.4, 1e-6);
  adagrad.Step(1.0f, 1.0f, One{12}, x);
  EXPECT_NEAR(x[0], 3.9 - 12 / 13.0, 1e-6);
  EXPECT_EQ(adagrad.sum()[0], 169);
}

TEST(AdagradTest, EpsilonStandsOutsideTheRoot) {
  Adagrad adagrad({.epsilon = 1.0f}, 1);
  One x = {4};
  adagrad.Step(1.0f, 1.0f, One{3}, x);
  EXPECT_EQ(x[0], 3.25f);  // 3 / (3 + 1)
}

TEST(AdagradTest, ParameterThatNeverMovedIsNotDividedByZero) {
  Adagrad adagrad({}, 1);
  One x = {4};
  adagrad.Step(1.0f, 1.0f, One{0}, x);
  EXPECT_EQ(x[0], 4);
}

TEST(OptimizerNames, AreThoseOfTheConfig) {
  using Name = OptimizerSettings::Name;
  EXPECT_EQ(Named<Name>("adam"), Name::kAdam);
  EXPECT_EQ(Named<Name>("rmsprop"), Name::kRmsProp);
  EXPECT_EQ(Named<Name>("sgd"), Name::kSgd);
  EXPECT_EQ(Named<Name>("momentum"), Name::kMomentum);
  EXPECT_EQ(Named<Name>("adagrad"), Name::kAdagrad);
  EXPECT_EQ(Named<Name>("Adam"), std::nullopt);
}

TEST(Optimizers, ForgettingIsBeingNew) {
  for (const auto& [name, text] : kOptimizerNames) {
    OptimizerSettings settings;
    settings.name = name;
    const auto optimizer = MakeOptimizer(settings, 3);
    SavedState made, stepped, forgot;
    optimizer->Save(StateWriter(&made, "o"));
    std::vector<float> parameters = {1, 2, 3};
    optimizer->Step(0.1f, 1.0f, std::vector<float>{1, -1, 2}, parameters);
    optimizer->Save(StateWriter(&stepped, "o"));
    optimizer->Forget();
    optimizer->Save(StateWriter(&forgot, "o"));
    EXPECT_NE(stepped, made) << text;
    EXPECT_EQ(forgot, made) << text;
  }
}

/// Both are written down: in a shard's handshake with its workers, and in checkpoints.
TEST(Optimizers, TheirTextsAndTheNamesOfTheirStateStay) {
  using Name = OptimizerSettings::Name;
  const std::map<Name, std::pair<const char*, std::vector<std::string>>> expected{
      {Name::kAdam, {"adam 0.899999976 0.999000013 9.99999975e-06 0", {"o.first", "o.second"}}},
      {Name::kRmsProp, {"rmsprop 0.99000001 9.99999975e-06 0", {"o.square"}}},
      {Name::kSgd, {"sgd 0", {}}},
      {Name::kMomentum, {"momentum 0.899999976 0", {"o.velocity"}}},
      {Name::kAdagrad, {"adagrad 9.99999975e-06 0", {"o.sum"}}}};
  for (const auto& [name, words] : expected) {
    ShardSettings settings;
    settings.optimizer.name = name;
    EXPECT_THAT(settings.ToText(),
                testing::HasSubstr(std::string(", optimizer ") + words.first + ", max_grad_norm "));
    SavedState state;
    MakeOptimizer(settings.optimizer, 3)->Save(StateWriter(&state, "o"));
    std::vector<std::string> columns;
    for (const auto& [column, numbers] : state.floats) {
      columns.push_back(column);
      EXPECT_EQ(numbers.size(), 3u);
    }
    EXPECT_EQ(columns, words.second);
    EXPECT_THAT(state.words, testing::ElementsAre(testing::Pair("o.steps", testing::SizeIs(1))));
  }
}

}  // namespace
}  // namespace murmurate
