#include "server/daemon/learners_advice.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

/// A batch of 50 exchanges.
LearnReport Batch(double learn_s, double wait_s) {
  LearnReport report;
  report.learn_s = learn_s;
  report.exchange.exchanges = 50;
  report.exchange.wait_s = wait_s;
  return report;
}

/// What is said of five such batches.
std::string SaidOf(int learners, double learn_s, double wait_s, double games_s = 0.0) {
  ExchangeAdvice advice(learners);
  EXPECT_EQ(advice.Learned(Batch(100.0, 99.9), 7.0), "") << "it waited for the others to come";
  std::string said;
  for (int batch = 1; batch <= 4; ++batch)
    said += advice.Learned(Batch(learn_s, wait_s), 7.0 + games_s * batch);
  return said;
}

TEST(ExchangeAdvice, SpeaksOnceWhereExchangesTakeWhatMoreLearnersSave) {
  EXPECT_EQ(SaidOf(2, 0.3, 0.2),
            "an exchange with the parameter server takes 4 ms and what is computed before it 2 ms, "
            "so 2 learners learn no faster than one here; take fewer, or a larger minibatch or "
            "parameters.window");
  EXPECT_EQ(SaidOf(2, 0.3, 0.1), "");
  EXPECT_EQ(SaidOf(4, 0.3, 0.2), "") << "three gradients are saved by one exchange";
  EXPECT_NE(SaidOf(4, 0.4, 0.35), "");
}

TEST(ExchangeAdvice, IsSilentWhereGamesAreWaitedFor) {
  EXPECT_EQ(SaidOf(2, 0.3, 0.2, 0.25), "");
  EXPECT_NE(SaidOf(2, 0.3, 0.2, 0.1), "");
}

TEST(LearnersAdvice, OnProcessorsIsForMoreLearnersThanThere) {
  EXPECT_EQ(AdviceOnProcessors(2, 2), "");
  EXPECT_EQ(AdviceOnProcessors(4, 0), "") << "the system does not say";
  EXPECT_EQ(AdviceOnProcessors(4, 2),
            "4 learners take turns on 2 processors, so more than 2 pay only where slow games keep "
            "them waiting; otherwise take run.learners = 2");
}

TEST(LearnersAdvice, OnBatchesIsForRulesThatAverage) {
  EXPECT_EQ(AdviceOnBatches(RuleName::kSync, 4),
            "4 learners under sync learn as one does with batches 4 times as large: divide "
            "algorithm.batch_steps and minibatch by 4, or raise optimizer.learning_rate, at most 4 "
            "times, to need no more steps");
  EXPECT_NE(AdviceOnBatches(RuleName::kSagn, 2), "");
  EXPECT_EQ(AdviceOnBatches(RuleName::kSync, 1), "");
  EXPECT_EQ(AdviceOnBatches(RuleName::kAsgd, 4), "");
}

}  // namespace
}  // namespace murmurate
