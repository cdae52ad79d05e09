#include "server/replay/priorities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace murmurate {
namespace {

ReplaySettings Settings(double exponent, double importance) {
  return {.capacity = 100,
          .minibatch = 10,
          .learning_starts = 0,
          .priority_exponent = exponent,
          .importance_exponent = importance,
          .priority_floor = 0.01};
}

class Made {
 public:
  explicit Made(const ReplaySettings& settings)
      : block_(BytesFor(settings)), cursor_(block_.bytes()), priorities(settings, cursor_) {}

 private:
  static std::size_t BytesFor(const ReplaySettings& settings) {
    BlockCursor measure;
    const Priorities priorities(settings, measure);
    return measure.used();
  }
  MappedBlock block_;
  BlockCursor cursor_;

 public:
  Priorities priorities;
};

/// How often each of 100 places is drawn.
std::vector<int> Drawn(Priorities& priorities, int draws, std::uint64_t seed) {
  std::vector<int> counts(100);
  Random random(seed);
  std::vector<std::size_t> places(10);
  std::vector<float> weights(10);
  for (int draw = 0; draw < draws / 10; ++draw) {
    priorities.Draw(&random, places, weights);
    for (const std::size_t place : places) ++counts[place];
  }
  return counts;
}

/// The stratified draw makes the sum smaller than that of 99 degrees of freedom: its limit at one
/// in a thousand is 148.
TEST(Priorities, AreTheProportionsOfWhatIsDrawn) {
  Made made(Settings(0.6, 0.4));
  double total = 0;
  std::vector<double> chances;
  for (std::size_t place = 0; place < 100; ++place) {
    const float error = 0.05f * static_cast<float>(place % 17);
    made.priorities.Begin(place);
    made.priorities.Set(place, error);
    made.priorities.Open(place);
    total += chances.emplace_back(std::pow(error + 0.01, 0.6));
  }
  const int draws = 200'000;
  const std::vector<int> counts = Drawn(made.priorities, draws, 3);
  double chi_square = 0;
  for (std::size_t place = 0; place < 100; ++place) {
    const double expected = draws * chances[place] / total;
    chi_square += (counts[place] - expected) * (counts[place] - expected) / expected;
  }
  EXPECT_LT(chi_square, 148.0);
}

TEST(Priorities, AreDrawnOnlyWhileTheyAreOpen) {
  Made made(Settings(1.0, 1.0));
  for (std::size_t place = 0; place < 100; ++place) {
    made.priorities.Begin(place);
    made.priorities.Set(place, 5.0f);
    if (place % 2 == 0) made.priorities.Open(place);
  }
  made.priorities.Evict(0, 50);
  made.priorities.Set(3, 9.0f);
  made.priorities.Set(10, 9.0f);
  const std::vector<int> counts = Drawn(made.priorities, 10'000, 4);
  for (std::size_t place = 0; place < 100; ++place)
    EXPECT_EQ(counts[place] > 0, place >= 50 && place % 2 == 0) << place;
}

TEST(Priorities, BeginWithTheLargestSoFar) {
  Made made(Settings(1.0, 1.0));
  const auto open = [&](std::size_t place) {
    made.priorities.Begin(place);
    made.priorities.Open(place);
  };
  open(0);  // 1
  made.priorities.Set(1, 2.99f);
  open(2);  // 3
  made.priorities.Set(0, 0.99f);
  const std::vector<int> counts = Drawn(made.priorities, 40'000, 5);
  EXPECT_EQ(counts[1], 0);
  EXPECT_NEAR(counts[0], 10'000, 400);
  EXPECT_NEAR(counts[2], 30'000, 400);
}

/// (N P)^-beta over the largest: of P = 1, 2 and 4 in a minibatch, 1, 2^-beta and 4^-beta.
TEST(Priorities, WeighByImportanceWithinTheMinibatch) {
  Made made(Settings(1.0, 0.4));
  for (std::size_t place = 0; place < 3; ++place) {
    made.priorities.Begin(place);
    made.priorities.Set(place, static_cast<float>(1 << place) - 0.01f);
    made.priorities.Open(place);
  }
  Random random(6);
  std::vector<std::size_t> places(7);
  std::vector<float> weights(7);
  made.priorities.Draw(&random, places, weights);
  EXPECT_EQ(places, (std::vector<std::size_t>{0, 1, 1, 2, 2, 2, 2})) << "a draw in each seventh";
  for (std::size_t i = 0; i < 7; ++i)
    EXPECT_NEAR(weights[i], std::pow(static_cast<double>(1 << places[i]), -0.4), 1e-6);
  std::vector<std::size_t> last(1);
  std::vector<float> its_weight(1);
  made.priorities.Draw(&random, last, its_weight);
  EXPECT_EQ(its_weight[0], 1.0f) << "the largest of its minibatch, not of the replay";
}

TEST(Priorities, IgnoreAnErrorThatIsNoNumberAndBoundOneThatIsHuge) {
  Made made(Settings(1.0, 0.4));
  for (std::size_t place = 0; place < 2; ++place) {
    made.priorities.Begin(place);
    made.priorities.Open(place);
  }
  made.priorities.Set(0, std::nanf(""));
  made.priorities.Set(0, std::numeric_limits<float>::infinity());
  EXPECT_NEAR(Drawn(made.priorities, 10'000, 7)[0], 5'000, 200);
  made.priorities.Set(0, std::numeric_limits<float>::max());
  EXPECT_EQ(Drawn(made.priorities, 10'000, 8)[0], 10'000);
}

}  // namespace
}  // namespace murmurate
