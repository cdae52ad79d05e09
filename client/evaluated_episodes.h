// EvaluatedEpisodes: which episodes of an agent are played to be evaluated, where the learner asks
// for a share of them (HelloOkModel::evaluation_share). The rule of one agent; it waits for nothing
// and allocates nothing. A random number has no part in it: the same episodes make the same choice.
//
// The agent adds share / burst to its turn as each episode begins, and evaluates a burst of
// episodes whenever the turn reaches 1. So after n episodes about n * share were evaluated, whether
// they are short or long. The turn begins at a fraction of 1 that the agent's seed gives, so that a
// thousand agents do not all evaluate at once, nor none of them for long.
//
// An evaluated episode cuts the trajectory before it short, and the learner gives no weight to the
// rest of its T steps. A burst is as many episodes as T steps hold, at most kMostTogether, so that
// the cuts waste at most about share / 2 of the learner's room.
//
// It evaluates nothing
//   before the agents of its model in this client have ended kFirst episodes of training, so a game
//     that ends no episode is never evaluated;
//   while evaluated episodes have taken more than kMostOfSteps * share of the agent's steps;
//   after an episode in which the game chose an action itself (Agent::Took).
// An evaluated episode of more than most_steps(), or with such an action, is evaluated no more: its
// return counts for nothing, and its later steps are training's.
#pragma once

#include <algorithm>
#include <cstdint>

namespace murmurate {

class EvaluatedEpisodes {
 public:
  static constexpr std::uint64_t kFirst = 20;
  static constexpr int kMostTogether = 100;
  static constexpr double kMostOfSteps = 4.0;
  static constexpr std::uint64_t kLeastBound = 10'000;

  struct Situation {
    double share = 0.0;                ///< 0: there is no learner that asks for any
    int trajectory_length = 1;         ///< T
    std::uint64_t model_episodes = 0;  ///< of training, that agents of the model have ended
    std::uint64_t seed = 0;            ///< of the agent
  };

  /// Whether the episode that begins is to be evaluated.
  bool Next(const Situation& now) {
    const bool took = took_;
    took_ = false;
    if (now.share <= 0.0 || now.model_episodes < kFirst) return Stop();
    if (turn_ < 0.0) turn_ = static_cast<double>(now.seed >> 11) * 0x1.0p-53;
    const int burst = BurstOf(now.trajectory_length);
    turn_ = std::min(turn_ + now.share / burst, 2.0);
    if (took) return Stop();
    if (left_ == 0 && turn_ >= 1.0 && MayBegin(now.share)) {
      turn_ -= 1.0;
      left_ = burst;
    }
    if (left_ == 0) return false;
    --left_;
    return true;
  }
  /// Counts an episode that has ended.
  void Count(bool evaluated, std::uint64_t steps) {
    CountSteps(evaluated, steps);
    if (evaluated) return;
    longest_ = std::max(longest_, steps);
    episodes_ = std::min(episodes_ + 1, kRemembered);
    mean_length_ += (static_cast<double>(steps) - mean_length_) / episodes_;
  }
  /// The evaluated episode, of so many steps, is evaluated no more, nor is the rest of the burst.
  void GiveUp(std::uint64_t steps) {
    CountSteps(true, steps);
    left_ = 0;
  }
  /// The game chose an action of the episode itself.
  void Took() { took_ = true; }
  /// Of an evaluated episode; more than training's longest ones, which it may well outdo.
  std::uint64_t most_steps() const { return std::max(kLeastBound, 4 * longest_); }

 private:
  static constexpr int kRemembered = 20;  ///< episodes that the mean length is about

  bool Stop() {
    left_ = 0;
    return false;
  }
  bool MayBegin(double share) const {
    return static_cast<double>(evaluated_steps_) <=
           kMostOfSteps * share * static_cast<double>(steps_);
  }
  int BurstOf(int trajectory_length) const {
    if (episodes_ == 0) return 1;
    const double episodes = trajectory_length / std::max(mean_length_, 1.0);
    return static_cast<int>(std::clamp(episodes, 1.0, static_cast<double>(kMostTogether)));
  }
  void CountSteps(bool evaluated, std::uint64_t steps) {
    steps_ += steps;
    if (evaluated) evaluated_steps_ += steps;
  }

  double turn_ = -1.0;  ///< below 0: it has not begun
  int left_ = 0;        ///< of the burst
  bool took_ = false;
  std::uint64_t steps_ = 0, evaluated_steps_ = 0;  ///< of ended episodes
  std::uint64_t longest_ = 0;                      ///< of training
  int episodes_ = 0;
  double mean_length_ = 0.0;  ///< of training's latest episodes
};

}  // namespace murmurate
