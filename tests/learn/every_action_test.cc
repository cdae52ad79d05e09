// Every action space is learned: bandits of one step whose best action is known. The client's half
// of the head (ActionHead) plays, the learner's half (in Algorithm) learns from what it recorded.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "server/learn/learner.h"
#include "server/network/actor_critic.h"
#include "shared/inference/action_head.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr int kLength = 16, kAgents = 8, kRows = kLength * kAgents;

/// One context in [-1, 1] is seen, one action taken, one reward given; the best one gets 0.
struct Task {
  Space action;
  ContinuousSettings continuous;
  std::function<double(float context, const std::int32_t* game)> reward;
  /// Whether a choice is forbidden; null: nothing is.
  std::function<void(Random& random, std::vector<std::uint8_t>* mask)> forbid;
};

float Number(std::int32_t word) { return std::bit_cast<float>(word); }

class Bandit {
 public:
  Bandit(const Task& task, std::uint64_t seed)
      : task_(task),
        spec_{.spaces = {Box({1}), task.action},
              .trunk = {{16, Activation::kTanh}},
              .continuous = task.continuous},
        head_(ActionLayout(task.action, task.continuous)),
        network_(spec_, kRows),
        learner_(spec_, Settings(), seed),
        random_(seed + 1000) {}

  static AlgorithmSettings Settings() {
    AlgorithmSettings settings;
    settings.trajectory_length = kLength;
    settings.batch_steps = kRows;
    settings.minibatch = 32;
    settings.epochs = 4;
    settings.learning_rate = 5e-3;
    return settings;
  }

  /// Plays and learns one batch.
  void Train() {
    Play(ActSettings::Mode::kSample);
    TrainingBatch batch(TrajectoryLayout(spec_, kLength), kAgents);
    for (int agent = 0; agent < kAgents; ++agent) batch.Add(View(agent));
    steps_ += kRows;
    (void)learner_.Learn(batch, steps_);
  }

  double MeanReward(ActSettings::Mode mode) {
    Play(mode);
    return std::accumulate(reward_.begin(), reward_.end(), 0.0) / kRows;
  }
  std::uint64_t steps() const { return steps_; }

 private:
  void Play(ActSettings::Mode mode) {
    const ActionLayout& layout = head_.layout();
    const auto snapshot = learner_.MakeSnapshot();
    const std::span<const float> parameters = snapshot->parameters;
    context_.resize(kRows);
    for (float& x : context_) x = 2 * random_.Uniform() - 1;
    std::vector<float> outputs(kRows * static_cast<std::size_t>(layout.outputs())), values(kRows);
    network_.Forward(parameters, context_.data(), kRows, outputs.data(), values.data());
    const bool free = layout.free_deviations() > 0;
    const float* deviations =
        free ? &parameters[network_.layout().Find("policy.log_deviation").offset] : nullptr;
    action_.resize(kRows * static_cast<std::size_t>(layout.words()));
    mask_.assign(task_.forbid ? kRows * static_cast<std::size_t>(layout.mask_bytes()) : 0, 1);
    log_prob_.resize(kRows);
    reward_.resize(kRows);
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(layout.mask_bytes()));
    std::vector<std::int32_t> game(static_cast<std::size_t>(layout.words()));
    for (int i = 0; i < kRows; ++i) {
      if (task_.forbid) {
        task_.forbid(random_, &mask);
        std::copy(mask.begin(), mask.end(), mask_.begin() + i * layout.mask_bytes());
      }
      std::int32_t* action = &action_[static_cast<std::size_t>(i * layout.words())];
      const ActionHead::Row row{&outputs[static_cast<std::size_t>(i * layout.outputs())],
                                deviations, task_.forbid ? mask.data() : nullptr};
      log_prob_[i] = head_.Choose(row, {.mode = mode}, random_, action);
      head_.ToGame(action, game.data());
      reward_[i] = static_cast<float>(task_.reward(context_[i], game.data()));
    }
    flags_.assign(kRows, kFirst | kTerminatedFlag);
  }

  TrajectoryView View(int agent) const {
    const auto part = [agent](const auto& column) {
      return std::span(column).subspan(agent * column.size() / kAgents, column.size() / kAgents);
    };
    TrajectoryView view;
    view.agent = static_cast<std::uint32_t>(agent);
    view.first_step = steps_ / kAgents;
    view.version = learner_.version();
    view.steps = kLength;
    view.observation = RowsOf(part(context_));
    view.action = part(action_);
    view.log_prob = part(log_prob_);
    view.reward = part(reward_);
    view.flags = part(flags_);
    view.mask = part(mask_);
    view.next_observation = RowsOf(std::span(context_).first(1));
    EXPECT_EQ(CheckTrajectory(view, TrajectoryLayout(spec_, kLength)).message(), "");
    return view;
  }

  const Task task_;
  const PolicyAndValue spec_;
  const ActionHead head_;
  ActorCritic network_;
  Learner learner_;
  Random random_;
  std::uint64_t steps_ = 0;
  std::vector<float> context_, log_prob_, reward_;
  std::vector<std::int32_t> action_;
  std::vector<std::uint8_t> flags_, mask_;
};

/// After `steps` the policy's mode gets within `shortfall` of the best reward, its samples within
/// `exploring`; for each of five seeds.
void ExpectLearned(const Task& task, std::uint64_t steps, double shortfall, double exploring) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Bandit bandit(task, seed);
    EXPECT_LT(bandit.MeanReward(ActSettings::Mode::kGreedy), -2 * shortfall) << "nothing to learn";
    while (bandit.steps() < steps) bandit.Train();
    EXPECT_GE(bandit.MeanReward(ActSettings::Mode::kGreedy), -shortfall) << "seed " << seed;
    EXPECT_GE(bandit.MeanReward(ActSettings::Mode::kSample), -exploring) << "seed " << seed;
  }
}

double Squared(double x) { return x * x; }

/// As Steering in -2 to 2, in a box of any place and size: what is played, as a share of it.
Task SteeringIn(float low, float high) {
  const Space box = Box({2}, low, high);
  return {box,
          {.scaled = ScalesActions(box)},
          [low, high](float x, const std::int32_t* game) {
            const auto at = [&](int i) { return 4 * (Number(game[i]) - low) / (high - low) - 2; };
            return -Squared(at(0) - x) - Squared(at(1) + 0.5 * x - 1);
          },
          nullptr};
}

Task Steering(bool state_dependent, bool squashed) {
  return {Box({2}, -2, 2),
          {state_dependent, squashed},
          [](float x, const std::int32_t* game) {
            return -Squared(Number(game[0]) - x) - Squared(Number(game[1]) + 0.5 * x - 1);
          },
          nullptr};
}

TEST(EveryAction, NumbersWithFreeDeviationsAreLearned) {
  ExpectLearned(Steering(false, false), 12'800, 0.05, 0.1);
}

TEST(EveryAction, NumbersInABoxOfAnyPlaceAndSizeAreLearnedAsInPlusMinusOne) {
  for (const auto& [low, high] : {std::pair{-1.0f, 1.0f}, std::pair{0.0f, 100.0f},
                                  std::pair{-0.01f, 0.01f}, std::pair{-1000.0f, 1000.0f}}) {
    SCOPED_TRACE(testing::Message() << low << " to " << high);
    ExpectLearned(SteeringIn(low, high), 12'800, 0.05, 0.15);
  }
}

TEST(EveryAction, NumbersWithDeviationsOfTheStateAreLearned) {
  ExpectLearned(Steering(true, false), 12'800, 0.05, 0.1);
}

TEST(EveryAction, SquashedNumbersAreLearned) {
  ExpectLearned(Steering(false, true), 12'800, 0.05, 0.1);
}

TEST(EveryAction, SeveralChoicesAreLearnedEachByItself) {
  const Task task{MultiDiscrete({3, 4}),
                  {},
                  [](float x, const std::int32_t* game) {
                    const int first = x < 0 ? 0 : 2, second = x < 0 ? 3 : 1;
                    return (game[0] == first ? 0 : -1) + (game[1] == second ? 0.0 : -1.0);
                  },
                  nullptr};
  ExpectLearned(task, 6'400, 0.05, 0.1);
}

TEST(EveryAction, SwitchesAreLearnedEachByItself) {
  const Task task{MultiBinary(3),
                  {},
                  [](float x, const std::int32_t* game) {
                    const int wanted[] = {x > 0, x < 0, 1};
                    double reward = 0;
                    for (int i = 0; i < 3; ++i) reward -= game[i] != wanted[i];
                    return reward;
                  },
                  nullptr};
  ExpectLearned(task, 6'400, 0.05, 0.1);
}

/// A mask that forbids each choice half of the time, but never all.
void ForbidSome(Random& random, std::vector<std::uint8_t>* mask) {
  const std::uint32_t allowed = 1 + random.UniformInt((1u << mask->size()) - 1);
  for (std::size_t i = 0; i < mask->size(); ++i) (*mask)[i] = allowed >> i & 1;
}

TEST(EveryAction, TheBestAllowedChoiceIsLearned) {
  // What a choice costs; the reward is what the best allowed one would have spared. The greedy
  // policy has nothing to regret only when it has all four in order.
  constexpr double kCost[] = {0.6, 0.9, 0.0, 0.3};
  double least = 0;  // of the allowed ones
  const Task task{Discrete(4),
                  {},
                  [&](float, const std::int32_t* game) { return least - kCost[game[0]]; },
                  [&](Random& random, std::vector<std::uint8_t>* mask) {
                    ForbidSome(random, mask);
                    least = 1;
                    for (int i = 0; i < 4; ++i) {
                      if ((*mask)[i]) least = std::min(least, kCost[i]);
                    }
                  }};
  ExpectLearned(task, 6'400, 0.02, 0.1);
}

TEST(EveryAction, AMixOfAllIsLearned) {
  const Task task{
      Dict({{"turn", Box({1}, -1, 1)}, {"buttons", MultiBinary(2)}, {"weapon", Discrete(3)}}),
      {},
      [](float x, const std::int32_t* game) {
        return -Squared(Number(game[0]) - 0.5 * x) - (game[1] != (x > 0)) - (game[2] != (x < 0)) -
               (game[3] != (x > 0 ? 2 : 0));
      },
      nullptr};
  ExpectLearned(task, 12'800, 0.1, 0.2);
}

}  // namespace
}  // namespace murmurate
