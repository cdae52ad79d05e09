// A game that must be remembered: the first of three steps shows a sign, the last one asks for it.
// Trajectories end in the middle of episodes, some episodes are truncated: the state and the frames
// that travel with a trajectory, and where they are reset, decide whether it can be learned.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "server/learn/learner.h"
#include "server/network/actor_critic.h"
#include "shared/inference/action_head.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {
namespace {

constexpr int kLength = 16, kAgents = 8, kEpisode = 3;

/// One agent's episode and the trajectory it is filling.
struct Player {
  int step = 0;  ///< of the episode
  float sign = 0;
  std::vector<float> seen;  ///< all it ever saw
  std::vector<float> reward, log_prob, state0, frames0, finals, next;
  std::vector<std::int32_t> action;
  std::vector<std::uint8_t> flags;
  int episodes = 0;

  float Observation() const { return step == 0 ? sign : 0.0f; }
  /// What it saw `age` steps before now, in this episode; 0 before it.
  float Earlier(int age) const {
    return age > step ? 0.0f : seen[seen.size() - static_cast<std::size_t>(age)];
  }
};

class MemoryGame {
 public:
  MemoryGame(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed)
      : spec_(spec),
        layout_(spec, kLength),
        stack_(spec),
        head_(ActionLayout(spec.spaces.action)),
        network_(spec, kAgents),
        learner_(spec, settings, seed),
        random_(seed + 77),
        players_(kAgents),
        states_(kAgents * static_cast<std::size_t>(layout_.state_floats)),
        states_after_(states_) {
    for (Player& player : players_) player.sign = Sign();
  }

  /// Plays and learns one batch; `answers_` right of all asked are counted.
  LearnReport Train() {
    const auto snapshot = learner_.MakeSnapshot();
    Begin();
    for (int step = 0; step < kLength; ++step) Step(snapshot->parameters);
    TrainingBatch batch(layout_, kAgents);
    for (int i = 0; i < kAgents; ++i) Add(i, &batch);
    steps_ += kLength;
    return learner_.Learn(batch, steps_ * kAgents);
  }
  bool forgets = false;  ///< what travels with a trajectory is lost
  double Right() const { return asked_ == 0 ? 0 : static_cast<double>(right_) / asked_; }

 private:
  float Sign() { return random_.UniformInt(2) == 0 ? -1.0f : 1.0f; }

  void Begin() {
    asked_ = right_ = 0;
    const std::size_t width = static_cast<std::size_t>(layout_.state_floats);
    for (int i = 0; i < kAgents; ++i) {
      Player& player = players_[i];
      for (auto* column : {&player.reward, &player.log_prob, &player.frames0, &player.finals}) {
        column->clear();
      }
      player.action.clear();
      player.flags.clear();
      player.state0.assign(states_.begin() + i * width, states_.begin() + (i + 1) * width);
      for (int age = layout_.frames; age > 0; --age) player.frames0.push_back(player.Earlier(age));
    }
  }

  void Step(std::span<const float> parameters) {
    const std::size_t depth = static_cast<std::size_t>(stack_.depth());
    std::vector<float> rows, outputs(kAgents * 2), values(kAgents);
    std::vector<std::uint8_t> first(kAgents);
    for (int i = 0; i < kAgents; ++i) {
      const Player& player = players_[i];
      for (std::size_t age = depth - 1; age > 0; --age) rows.push_back(player.Earlier(age));
      rows.push_back(player.Observation());
      first[i] = player.step == 0;
    }
    const Sequences one{1, kAgents, first.data(), states_.data(), states_after_.data()};
    network_.Forward(parameters, rows.data(), kAgents, outputs.data(), values.data(), &one);
    states_.swap(states_after_);
    for (int i = 0; i < kAgents; ++i) Play(&players_[i], &outputs[2 * i]);
  }

  void Play(Player* player, const float* logits) {
    std::int32_t action = 0;
    const float log_prob = head_.Choose({logits}, {}, random_, &action);
    const bool last = player->step == kEpisode - 1;
    const bool truncated = last && ++player->episodes % 4 == 0;
    const bool right = (action == 1) == (player->sign > 0);
    player->seen.push_back(player->Observation());
    player->action.push_back(action);
    player->log_prob.push_back(log_prob);
    player->reward.push_back(last ? (right ? 1.0f : -1.0f) : 0.0f);
    player->flags.push_back((player->step == 0 ? kFirst : 0) | (truncated ? kTruncatedFlag : 0) |
                            (last && !truncated ? kTerminatedFlag : 0));
    ++player->step;
    if (!last) return;
    if (truncated) player->finals.push_back(0.0f);
    ++asked_;
    right_ += right;
    player->step = 0;
    player->sign = Sign();
  }

  void Add(int i, TrainingBatch* batch) {
    Player& player = players_[i];
    player.next = {player.step == 0 ? 0.0f : player.Observation()};
    TrajectoryView view;
    view.agent = static_cast<std::uint32_t>(i);
    view.first_step = steps_;
    if (forgets) {
      std::fill(player.state0.begin(), player.state0.end(), 0.0f);
      std::fill(player.frames0.begin(), player.frames0.end(), 0.0f);
    }
    view.version = learner_.version();
    view.steps = kLength;
    view.observation = RowsOf(std::span(player.seen).last(kLength));
    view.action = player.action;
    view.log_prob = player.log_prob;
    view.reward = player.reward;
    view.flags = player.flags;
    view.state0 = player.state0;
    view.frames0 = RowsOf(player.frames0);
    view.final_observation = RowsOf(player.finals);
    view.next_observation = RowsOf(player.next);
    ASSERT_EQ(CheckTrajectory(view, layout_).message(), "");
    ASSERT_TRUE(batch->Add(view));
  }

  const ModelSpec spec_;
  const TrajectoryLayout layout_;
  const FrameStack stack_;
  const ActionHead head_;
  ActorCritic network_;
  Learner learner_;
  Random random_;
  std::vector<Player> players_;
  std::vector<float> states_, states_after_;
  std::uint64_t steps_ = 0;
  int asked_ = 0, right_ = 0;
};

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.trajectory_length = kLength;
  settings.batch_steps = kLength * kAgents;
  settings.minibatch = 64;
  settings.epochs = 4;
  settings.learning_rate = 5e-3;
  return settings;
}

ModelSpec Spec(const std::string& layers) {
  const auto spec =
      ModelSpec::Parse("murmurate-model 1\nobservation float32 1\naction discrete 2\n" + layers +
                       "normalize_observation 0\n");
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *spec;
}

const char* const kGru = "gru 8\nseparate_value 0\n";
const char* const kLstm = "dense 8 tanh\nlstm 8\nseparate_value 0\n";
const char* const kStack = "input - stack 3\ntrunk\ndense 16 tanh\nseparate_value 1\n";

void ExpectLearned(const char* layers, const AlgorithmSettings& settings, int batches) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    MemoryGame game(Spec(layers), settings, seed);
    (void)game.Train();
    EXPECT_LT(game.Right(), 0.8) << "nothing to learn";
    for (int batch = 1; batch < batches; ++batch) (void)game.Train();
    EXPECT_GT(game.Right(), 0.9) << layers << "seed " << seed;
  }
}

TEST(Memory, AStackOfFramesLearnsWhatItMustRemember) { ExpectLearned(kStack, Settings(), 60); }
TEST(Memory, AGruLearnsWhatItMustRemember) { ExpectLearned(kGru, Settings(), 150); }
TEST(Memory, AnLstmLearnsWhatItMustRemember) { ExpectLearned(kLstm, Settings(), 150); }

TEST(Memory, BurningInStillLearns) {
  AlgorithmSettings settings = Settings();
  settings.burn_in = 4;
  ExpectLearned(kGru, settings, 150);
}

TEST(Memory, WithoutEitherItCannotBeLearned) {
  MemoryGame game(Spec("dense 16 tanh\nseparate_value 1\n"), Settings(), 1);
  double right = 0;
  for (int batch = 0; batch < 150; ++batch) {
    (void)game.Train();
    if (batch >= 100) right += game.Right() / 50;
  }
  EXPECT_NEAR(right, 0.5, 0.1);
}

/// The largest lag_kl of 20 batches that are trained on with one update each: its ratios are
/// those of the parameters that the batch was played under.
double LargestKl(const char* layers, bool forgets) {
  AlgorithmSettings settings = Settings();
  settings.epochs = 1;
  settings.minibatch = settings.batch_steps;
  MemoryGame game(Spec(layers), settings, 3);
  game.forgets = forgets;
  double largest = 0;
  for (int batch = 0; batch < 20; ++batch) {
    largest = std::max(largest, std::abs(game.Train().lag_kl));
  }
  return largest;
}

TEST(Memory, FreshExperienceHasTheProbabilityItWasPlayedWith) {
  for (const char* layers : {kGru, kLstm, kStack}) {
    EXPECT_LT(LargestKl(layers, false), 1e-7) << layers;
    EXPECT_GT(LargestKl(layers, true), 1e-5) << layers << "no state or frames travelled";
  }
}

}  // namespace
}  // namespace murmurate
