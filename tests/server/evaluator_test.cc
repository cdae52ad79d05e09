#include "server/daemon/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "server/daemon/scoring.h"
#include "shared/core/clock.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Environments Games(const std::string& name, int count) {
  Environments games;
  for (int i = 0; i < count; ++i) games.push_back(std::move(*MakeEnvironment(name)));
  return games;
}

/// Weights of zero give every action the same value, and greedy play takes the first: to push left
/// at every step, which never gets the car up the right hill.
PolicyAndValue CarSpec() {
  PolicyAndValue spec;
  spec.spaces = (*MakeEnvironment("mountain_car"))->spaces();
  spec.trunk = {{4, Activation::kTanh}};
  return spec;
}

std::shared_ptr<const Snapshot> PushesLeft(std::uint64_t version) {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = version;
  snapshot->parameters = AlignedFloats(ParameterLayout(CarSpec()).total);
  return snapshot;
}

/// An Evaluator with no thread.
struct Fixture {
  explicit Fixture(std::uint64_t every_steps) {
    EvaluatorOptions options;
    options.spec = CarSpec();
    options.episodes = 3;
    options.every_steps = every_steps;
    options.settings = std::make_shared<SettingsOfPlay>([] {
      return SettingsOfPlay::Values{{"gravity", 9.5}};
    });
    options.on_evaluation = [this](const Evaluation& evaluation,
                                   const SettingsOfPlay::Values& settings,
                                   std::shared_ptr<const Snapshot> played) {
      EXPECT_THAT(settings, ElementsAre(Pair("gravity", 9.5)));
      evaluations.push_back(evaluation);
      EXPECT_EQ(played->version, evaluation.version);
    };
    options.log = [this](LogLevel, std::string_view line) { log += std::string(line) + '\n'; };
    evaluator.emplace(std::move(options), Games("mountain_car", 2));
  }
  std::vector<std::uint64_t> Steps() const {
    std::vector<std::uint64_t> steps;
    for (const Evaluation& evaluation : evaluations) steps.push_back(evaluation.learned_steps);
    return steps;
  }

  std::vector<Evaluation> evaluations;
  std::string log;
  std::optional<Evaluator> evaluator;
};

constexpr std::int64_t kNever = INT64_MAX;

TEST(Evaluator, SaysWhatTheEpisodesCameTo) {
  Fixture fixture(100);
  fixture.evaluator->Offer(PushesLeft(7), {130, 150});
  fixture.evaluator->PollOnce(0);
  ASSERT_EQ(fixture.evaluations.size(), 1u);
  const Evaluation& evaluation = fixture.evaluations[0];
  EXPECT_EQ(evaluation.version, 7u);
  EXPECT_EQ(evaluation.learned_steps, 130u);
  EXPECT_EQ(evaluation.steps, 150u) << "taken";
  EXPECT_EQ(evaluation.episodes, 3u);
  EXPECT_EQ(evaluation.mean_return, -200);
  EXPECT_EQ(evaluation.deviation, 0);
  EXPECT_EQ(evaluation.mean_length, 200);
}

TEST(Evaluator, PlaysOnceInEveryPartOfTheBudget) {
  Fixture fixture(100);
  for (const std::uint64_t steps : {0, 99, 100, 150, 199, 350, 399, 400}) {
    fixture.evaluator->Offer(PushesLeft(1 + steps), {steps, 2 * steps});
    fixture.evaluator->PollOnce(0);
  }
  EXPECT_THAT(fixture.Steps(), ElementsAre(100, 350, 400));
  EXPECT_EQ(fixture.log, "");
}

TEST(Evaluator, ASnapshotThatStillWaitedGivesWayToTheNextAndTheLogSaysSo) {
  Fixture fixture(100);
  for (const std::uint64_t steps : {100, 200, 300})
    fixture.evaluator->Offer(PushesLeft(steps), {steps, 2 * steps});
  fixture.evaluator->PollOnce(0);
  EXPECT_THAT(fixture.Steps(), ElementsAre(300));
  EXPECT_EQ(fixture.log,
            "model default: 2 evaluations were skipped, because the one before still played\n");
}

TEST(Evaluator, TheLastVersionIsPlayedOnceWhateverWasPlayedBefore) {
  Fixture fixture(100);
  fixture.evaluator->Offer(PushesLeft(4), {100, 100});
  fixture.evaluator->PollOnce(0);
  fixture.evaluator->Cancel();
  fixture.evaluator->Finish(PushesLeft(4), {120, 120}, kNever);
  EXPECT_THAT(fixture.Steps(), ElementsAre(100));
  fixture.evaluator->Finish(PushesLeft(5), {140, 140}, kNever);
  EXPECT_THAT(fixture.Steps(), ElementsAre(100, 140));
  fixture.evaluator->Finish(nullptr, {}, kNever);
  EXPECT_EQ(fixture.evaluations.size(), 2u);
}

TEST(Evaluator, WhatIsCancelledComesToNothing) {
  Fixture fixture(100);
  fixture.evaluator->Offer(PushesLeft(4), {100, 100});
  fixture.evaluator->Cancel();
  fixture.evaluator->PollOnce(60'000);
  EXPECT_THAT(fixture.evaluations, IsEmpty());
}

TEST(Evaluator, TheLastEvaluationIsGivenUpAtItsDeadlineAndTheLogSaysSo) {
  Fixture fixture(0);
  fixture.evaluator->Finish(PushesLeft(4), {120, 120}, MonotonicNs());
  EXPECT_THAT(fixture.evaluations, IsEmpty());
  EXPECT_THAT(fixture.log, HasSubstr("the last evaluation took too long and was given up"));
}

/// An episode of recall has distractors + 2 steps. Each that begins makes the next harder.
TEST(Evaluator, SettingsThatChangeWhileItPlaysCountFromTheNextEvaluationOn) {
  double distractors = 1;
  auto settings = std::make_shared<SettingsOfPlay>([&] {
    return SettingsOfPlay::Values{{"distractors", distractors}};
  });
  EnvironmentOptions game;
  game.setting = [&, settings](std::string_view name, double usual) {
    ++distractors;
    return settings->Of(name, usual);
  };
  Environments games;
  games.push_back(std::move(*MakeEnvironment("recall", game)));
  std::vector<std::pair<double, double>> lengths_and_settings;
  EvaluatorOptions options;
  options.spec = PolicyAndValue{.spaces = games[0]->spaces(), .trunk = {{4, Activation::kTanh}}};
  options.episodes = 3;
  options.every_steps = 100;
  options.settings = settings;
  options.on_evaluation = [&](const Evaluation& evaluation, const SettingsOfPlay::Values& under,
                              const std::shared_ptr<const Snapshot>&) {
    lengths_and_settings.emplace_back(evaluation.mean_length, under.at("distractors"));
  };
  options.log = [](LogLevel, std::string_view line) { ADD_FAILURE() << line; };
  Evaluator evaluator(options, std::move(games));
  distractors = 1;  // the game asked as it was made
  for (const std::uint64_t steps : {100, 200}) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->version = steps;
    snapshot->parameters = AlignedFloats(ParameterLayout(options.spec).total);
    evaluator.Offer(std::move(snapshot), {steps, steps});
    evaluator.PollOnce(0);
  }
  EXPECT_THAT(lengths_and_settings, ElementsAre(Pair(3, 1), Pair(6, 4)));
}

TEST(Evaluator, AGameThatAsksForWhatIsNoSettingHasItsOwnNumber) {
  SettingsOfPlay settings([] { return SettingsOfPlay::Values{{"gravity", 9.5}}; });
  settings.Begin();
  EXPECT_EQ(settings.Of("gravity", 1), 9.5);
  EXPECT_EQ(settings.Of("wind", 1), 1);
}

TEST(Scoring, EveryCallPlaysTheSameEpisodesOnAnyNumberOfThreads) {
  PolicyAndValue spec;
  const Environments games = Games("cartpole", 3);
  spec.spaces = games[0]->spaces();
  spec.trunk = {{4, Activation::kTanh}};
  const WeightsFile weights{spec, 1, 0, AlignedFloats(ParameterLayout(spec).total)};
  const auto first = PlayEpisodes(weights, ScoredPlay::kGreedy, std::span(games).first(1), 20);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto again = PlayEpisodes(weights, ScoredPlay::kGreedy, games, 20);
  ASSERT_TRUE(again.ok());
  std::set<double> returns;
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ((*first)[i].raw_return, (*again)[i].raw_return);
    EXPECT_EQ((*first)[i].length, (*first)[i].raw_return) << "a step of CartPole is worth 1";
    EXPECT_EQ((*first)[i].mode, 1u);
    returns.insert((*first)[i].raw_return);
  }
  EXPECT_GT(returns.size(), 1u);  // a cart that is always pushed left falls after 8 to 11 steps
  EXPECT_GE(*returns.begin(), 8);
  EXPECT_LE(*returns.rbegin(), 11);
}

/// Weights of zero, drawn from, are a coin: a cart lasts some 22 steps and many 12 or more.
TEST(Scoring, SampledPlayDrawsFromThePolicyAndIsTheSameOnAnyNumberOfThreads) {
  PolicyAndValue spec;
  const Environments games = Games("cartpole", 3);
  spec.spaces = games[0]->spaces();
  spec.trunk = {{4, Activation::kTanh}};
  const WeightsFile weights{spec, 1, 0, AlignedFloats(ParameterLayout(spec).total)};
  const auto first = PlayEpisodes(weights, ScoredPlay::kSampled, std::span(games).first(1), 20);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto again = PlayEpisodes(weights, ScoredPlay::kSampled, games, 20);
  ASSERT_TRUE(again.ok()) << again.status();
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ((*first)[i].raw_return, (*again)[i].raw_return);
  EXPECT_GT(EvaluationOf(*first).mean_return, 12);
}

}  // namespace
}  // namespace murmurate
