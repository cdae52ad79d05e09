// Each update rule of a parameter server learns CartPole with two learners: by PPO with the rule's
// usual settings, and by IMPALA where that takes a second.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/sanitized.h"
#include "tests/server/cluster_stage.h"
#include "tests/server/corners.h"

namespace murmurate {
namespace {

struct Learning {
  const char* config;
  const char* rule;
  const char* steps;  ///< budget of both learners together
  std::vector<std::string> more = {};
};

/// PPO needs 55,000 to 130,000 steps of each learner, IMPALA 150,000 to 350,000 (seeds 1 to 3).
constexpr char kPpoSteps[] = "run.steps=300000", kImpalaSteps[] = "run.steps=2000000";
const std::vector<std::string> kNormalized{"algorithm.normalize_reward=true"};
const Learning kCases[] = {
    {"cartpole", "sync", kPpoSteps},
    {"cartpole", "asgd", kPpoSteps},
    {"cartpole", "downpour", kPpoSteps},
    {"cartpole", "agn", kPpoSteps},
    {"cartpole", "adag", kPpoSteps},
    {"cartpole", "dynsgd", kPpoSteps},
    {"cartpole", "sagn", kPpoSteps},
    {"cartpole", "easgd", kPpoSteps},
    {"cartpole", "aeasgd", kPpoSteps},
    {"cartpole",
     "aeamsgd",
     kPpoSteps,
     {"optimizer.name=\"momentum\"", "optimizer.learning_rate=0.1"}},  // as its refusal says
    {"cartpole-impala", "asgd", kImpalaSteps, kNormalized},
    {"cartpole-impala", "downpour", kImpalaSteps, kNormalized},
    {"cartpole-impala", "dynsgd", kImpalaSteps, kNormalized},
    {"cartpole-impala", "aeasgd", kImpalaSteps, kNormalized}};

class EachRule : public testing::TestWithParam<Learning> {
 protected:
  bool Solves(int seed) {
    std::vector<std::string> arguments{"train",  GetParam().config,   "--quiet", "--learners", "2",
                                       "--seed", std::to_string(seed)};
    const auto set = [&](const std::string& assignment) {
      arguments.insert(arguments.end(), {"--set", assignment});
    };
    set(std::string("parameters.rule=\"") + GetParam().rule + '"');
    set(GetParam().steps);
    set("run.name=seed-" + std::to_string(seed));
    set("evaluation.episodes=2");
    for (const std::string& more : GetParam().more) set(more);
    const Ran train = RunMurmurate(place_.path(), arguments, 60);
    EXPECT_TRUE(train.code == 0 || train.code == 1) << train.output << train.errors;
    return train.code == 0;
  }
  Workplace place_;
};

// Which update comes before which is for the clock, so one seed of three may fail.
TEST_P(EachRule, SolvesCartPoleWithTwoLearnersAtTwoOfThreeSeeds) {
  if (kSanitized) GTEST_SKIP() << "whole trainings: run it without sanitizers";
  if (Solves(1)) return;
  EXPECT_TRUE(Solves(2));
  EXPECT_TRUE(Solves(3));
}

INSTANTIATE_TEST_SUITE_P(Rules, EachRule, testing::ValuesIn(kCases), [](const auto& param) {
  const bool impala = std::string(param.param.config) == "cartpole-impala";
  return std::string(impala ? "Impala_" : "Ppo_") + param.param.rule;
});

// With one exchange a batch the shard made one step of 32 updates.
TEST(RuleLearning, AsgdMakesAStepOfTheShardOfEveryUpdateOfPpo) {
  const Workplace place;
  const Ran train =
      RunMurmurate(place.path(), {"train", "cartpole", "--quiet", "--learners", "2", "--steps",
                                  "20000", "--set", "parameters.rule=\"asgd\"", "--set",
                                  "run.stop_at_return=100000", "--set", "evaluation.episodes=2"});
  ASSERT_EQ(train.code, 1) << train.output << train.errors;  // its budget is spent
  const double updates = LastOf(place.Read("runs/cartpole/progress.csv"), "train/updates");
  EXPECT_GT(updates, 200.0);
  EXPECT_GE(static_cast<double>(MergesOf(place, "runs/cartpole")), updates);
}

}  // namespace
}  // namespace murmurate
