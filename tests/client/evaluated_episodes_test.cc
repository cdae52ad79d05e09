// The rule of which episodes are evaluated, and an agent that follows it.
#include "client/evaluated_episodes.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/client/workbench.h"

namespace murmurate {
namespace {

constexpr int kLength = 128;  // T

/// An agent that plays `episodes` of so many `steps` each, in a client that has played for long.
struct Played {
  int evaluated = 0, cuts = 0, longest_wait = 0;
};
Played Play(EvaluatedEpisodes& rule, double share, int steps, int episodes,
            std::uint64_t seed = 77) {
  Played played;
  bool before = false;
  int wait = 0;
  for (int i = 0; i < episodes; ++i) {
    const bool evaluated = rule.Next(
        {.share = share, .trajectory_length = kLength, .model_episodes = 1000, .seed = seed});
    played.evaluated += evaluated;
    played.cuts += evaluated && !before;
    before = evaluated;
    wait = evaluated ? 0 : wait + 1;
    played.longest_wait = std::max(played.longest_wait, wait);
    rule.Count(evaluated, static_cast<std::uint64_t>(steps));
  }
  return played;
}

TEST(EvaluatedEpisodes, TheShareHoldsForShortEpisodesAndForLongOnes) {
  for (const double share : {0.01, 0.05, 0.25, 0.5}) {
    for (const int steps : {1, 7, 30, 200, 5000}) {
      EvaluatedEpisodes rule;
      const Played played = Play(rule, share, steps, 40'000);
      EXPECT_NEAR(played.evaluated / 40'000.0, share, 0.1 * share) << share << ' ' << steps;
    }
  }
}

TEST(EvaluatedEpisodes, TheShareHoldsForAThousandAgentsFromTheirFirstEpisodesOn) {
  int evaluated = 0;
  for (std::uint64_t agent = 0; agent < 1000; ++agent) {
    EvaluatedEpisodes rule;
    evaluated += Play(rule, 0.05, 200, 4, DeriveSeed(1, agent)).evaluated;
  }
  EXPECT_NEAR(evaluated, 200, 45);
}

TEST(EvaluatedEpisodes, TheSameEpisodesMakeTheSameChoice) {
  EvaluatedEpisodes one, other;
  EXPECT_EQ(Play(one, 0.05, 30, 999).evaluated, Play(other, 0.05, 30, 999).evaluated);
}

TEST(EvaluatedEpisodes, CutTrajectoriesWasteLittleOfTheLearnersRoom) {
  for (const int steps : {2, 7, 30, 100, 500}) {
    EvaluatedEpisodes rule;
    const Played played = Play(rule, 0.05, steps, 40'000);
    const double learned = (40'000.0 - played.evaluated) * steps;
    EXPECT_LT(played.cuts * (kLength / 2.0) / learned, 0.05) << steps;
  }
}

TEST(EvaluatedEpisodes, AnAgentThatKnowsNoLengthYetEvaluatesOneAtATime) {
  EvaluatedEpisodes rule;
  const EvaluatedEpisodes::Situation now{
      .share = 0.05, .trajectory_length = kLength, .model_episodes = 1000, .seed = ~0ull};
  EXPECT_TRUE(rule.Next(now));
  EXPECT_FALSE(rule.Next(now));
}

TEST(EvaluatedEpisodes, WithoutAShareOrBeforeTheFirstEpisodesThereAreNone) {
  EvaluatedEpisodes rule;
  EXPECT_EQ(Play(rule, 0.0, 10, 1000).evaluated, 0);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(rule.Next({.share = 0.5, .model_episodes = EvaluatedEpisodes::kFirst - 1}));
  }
}

TEST(EvaluatedEpisodes, WhereTheGameActsItselfTheNextOneIsNotEvaluated) {
  EvaluatedEpisodes rule;
  for (int i = 0; i < 1000; ++i) {
    rule.Took();
    EXPECT_EQ(Play(rule, 0.5, 10, 1).evaluated, 0);
  }
  EXPECT_GT(Play(rule, 0.5, 10, 100).evaluated, 0);
}

TEST(EvaluatedEpisodes, GreedyPlayThatNeverEndsTakesLittleOfTheSteps) {
  EvaluatedEpisodes rule;
  std::uint64_t steps = 0, evaluated_steps = 0;
  for (int i = 0; i < 200'000; ++i) {
    const bool evaluated =
        rule.Next({.share = 0.05, .trajectory_length = kLength, .model_episodes = 1000, .seed = 5});
    if (evaluated) {
      steps += rule.most_steps() + 1;
      evaluated_steps += rule.most_steps() + 1;
      rule.GiveUp(rule.most_steps() + 1);
    }
    rule.Count(false, 20);
    steps += 20;
  }
  EXPECT_GT(evaluated_steps, 0u);
  EXPECT_LT(static_cast<double>(evaluated_steps), 0.21 * static_cast<double>(steps));
}

TEST(EvaluatedEpisodes, TheBoundGrowsWithTheEpisodesOfTraining) {
  EvaluatedEpisodes rule;
  EXPECT_EQ(rule.most_steps(), 10'000u);
  rule.Count(false, 100);
  EXPECT_EQ(rule.most_steps(), 10'000u);
  rule.Count(false, 20'000);
  EXPECT_EQ(rule.most_steps(), 80'000u);
}

/// An agent whose learner asks for half of its episodes.
struct AskedBench : Workbench {
  explicit AskedBench(double share = 0.5) : Workbench(8) {
    Publish(2);
    model->live = true;
    model->evaluation_share = share;
    model->episodes = EvaluatedEpisodes::kFirst;
  }
  /// Blocks that were handed over since the last call.
  void Collect() {
    for (auto received = PopTrajectory(); received.block; received = PopTrajectory()) {
      const TrajectoryView& view = received.view;
      learned_steps += view.steps;
      for (const EpisodeRecord& episode : view.episodes) {
        EXPECT_TRUE(view.steps == 0 || episode.mode == 0) << "evaluated ones go by themselves";
        (episode.mode == 0 ? trained : evaluated).push_back(episode);
      }
      ring->Release(received.block);
    }
  }
  bool evaluates() const { return agent->episode().mode() == PlayMode::kEvaluate; }
  std::uint64_t counted_steps() const { return agent->shared().counts().steps.load(); }
  std::uint64_t evaluated_steps() const { return agent->shared().counts().evaluation_steps.load(); }

  int learned_steps = 0;
  std::vector<EpisodeRecord> trained, evaluated;
};

int Greedy(const Workbench& bench, int step) {
  const auto log_probs =
      LogProbabilities(bench.spec, SomeParameters(bench.spec, 2), bench.Observation(step));
  return static_cast<int>(std::max_element(log_probs.begin(), log_probs.end()) - log_probs.begin());
}

TEST(AskedAgent, EvaluatesItsShareGreedilyAndSendsNoStepOfIt) {
  AskedBench bench;
  int other = 0, evaluated_steps = 0;
  for (int episode = 0; episode < 200; ++episode) {
    for (int step = 0; step < 3; ++step) {
      const int acted = bench.Act(step);
      if (bench.evaluates()) {
        EXPECT_EQ(acted, Greedy(bench, step));
        ++evaluated_steps;
      } else {
        other += acted != Greedy(bench, step);
      }
      bench.agent->Reward(bench.evaluates() ? 10 : 1);
    }
    bench.agent->End(episode % 2 == 0 ? kTerminated : kTruncated, bench.Observation(9));
    bench.Collect();
  }
  bench.agent->Close();
  bench.Collect();
  EXPECT_GT(other, 0) << "training samples";
  EXPECT_NEAR(static_cast<double>(bench.evaluated.size()), 100, 4);
  EXPECT_EQ(bench.trained.size() + bench.evaluated.size(), 200u);
  for (const EpisodeRecord& episode : bench.evaluated) {
    EXPECT_EQ(episode.mode, 2u);
    EXPECT_EQ(episode.raw_return, 30.0);
    EXPECT_EQ(episode.length, 3u);
  }
  for (const EpisodeRecord& episode : bench.trained) EXPECT_EQ(episode.raw_return, 3.0);
  EXPECT_EQ(bench.learned_steps, 3 * static_cast<int>(bench.trained.size()));
  EXPECT_EQ(bench.counted_steps(), static_cast<std::uint64_t>(bench.learned_steps));
  EXPECT_EQ(bench.evaluated_steps(), static_cast<std::uint64_t>(evaluated_steps));
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 0u);
}

TEST(AskedAgent, ALearnerThatAsksForNoneOrIsGoneGetsNone) {
  for (const bool live : {false, true}) {
    AskedBench bench(live ? 0.0 : 0.5);
    bench.model->live = live;
    for (int step = 0; step < 400; ++step) {
      bench.Act(step), bench.agent->End(kTerminated, {});
      bench.Collect();
    }
    EXPECT_EQ(bench.evaluated.size(), 0u);
    EXPECT_EQ(bench.evaluated_steps(), 0u);
  }
}

TEST(AskedAgent, TheFirstEpisodesOfAModelAreTrainedOn) {
  AskedBench bench;
  bench.model->episodes = 0;
  for (std::uint64_t i = 0; i < EvaluatedEpisodes::kFirst; ++i) {
    bench.Act(0), bench.agent->End(kTerminated, {});
    bench.Collect();
  }
  EXPECT_EQ(bench.evaluated_steps(), 0u);
  for (int i = 0; i < 100; ++i) bench.Act(0), bench.agent->End(kTerminated, {});
  EXPECT_GT(bench.evaluated_steps(), 0u);
}

/// Plays until an evaluated episode has begun.
bool BeginEvaluated(AskedBench& bench) {
  for (int i = 0; i < 1000; ++i) {
    bench.Act(0);
    if (bench.evaluates()) return true;
    bench.agent->End(kTerminated, {});
    bench.Collect();
  }
  return false;
}

TEST(AskedAgent, AnEpisodeInWhichTheGameActsIsTrainedOnFromThereAndNotCounted) {
  AskedBench bench;
  ASSERT_TRUE(BeginEvaluated(bench));
  bench.Collect();
  const std::size_t evaluated = bench.evaluated.size(), trained = bench.trained.size();
  const std::uint64_t steps = bench.counted_steps();
  bench.agent->Took(1);
  EXPECT_FALSE(bench.evaluates());
  for (int step = 1; step < 9; ++step) bench.Act(step), bench.agent->Reward(1);
  bench.agent->End(kTerminated, {});
  bench.Act(0);
  EXPECT_FALSE(bench.evaluates()) << "nor the next one";
  bench.Collect();
  EXPECT_EQ(bench.counted_steps(), steps + 9);
  EXPECT_EQ(bench.evaluated.size(), evaluated);
  EXPECT_EQ(bench.trained.size(), trained);
}

TEST(AskedAgent, AnEvaluatedEpisodeWithoutAnEndGoesBackToTraining) {
  AskedBench bench;
  ASSERT_TRUE(BeginEvaluated(bench));
  bench.Collect();
  const std::size_t evaluated = bench.evaluated.size(), trained = bench.trained.size();
  const std::uint64_t steps = bench.counted_steps();
  for (int step = 0; step < 10'100; ++step) {
    bench.Act(step), bench.agent->Reward(1);
    bench.Collect();
  }
  EXPECT_FALSE(bench.evaluates());
  EXPECT_GT(bench.counted_steps(), steps + 50);
  EXPECT_LT(bench.counted_steps(), steps + 150);
  bench.agent->End(kTerminated, {});
  bench.Act(0);
  bench.Collect();
  EXPECT_EQ(bench.evaluated.size(), evaluated);
  EXPECT_EQ(bench.trained.size(), trained);
}

TEST(AskedAgent, ADiscardedEvaluatedEpisodeIsNotCounted) {
  AskedBench bench;
  ASSERT_TRUE(BeginEvaluated(bench));
  bench.Collect();
  const std::size_t evaluated = bench.evaluated.size();
  bench.agent->Discard();
  bench.agent->Close();
  bench.Collect();
  EXPECT_EQ(bench.evaluated.size(), evaluated);
}

}  // namespace
}  // namespace murmurate
