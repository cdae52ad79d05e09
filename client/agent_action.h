// AgentAction: the action of an agent's last step: chosen by the policy's outputs, at random or by
// default, read by the game, and replaced where the game did something else. The game's thread; no
// lock, no allocation after construction but for an Action that has other parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "client/client_model.h"
#include "murmurate/action.h"
#include "murmurate/status.h"
#include "shared/core/pink_noise.h"
#include "shared/core/random.h"
#include "shared/inference/action_head.h"

namespace murmurate {

class AgentAction {
 public:
  /// `default_action`: of the model's space, or empty for an Action(space).
  AgentAction(const ClientModel& model, const Action& default_action);

  // For the game.
  /// The choice of the last step: the only choice of a Discrete action, or all of any action.
  int choice(const char* call = "Agent::Act") const;
  void ReadAction(Action* action);
  void ReadAction(std::span<float> action);  ///< of a Box
  /// All choices and switches, all numbers, each in the order of the space's parts.
  void ReadAction(std::int32_t* choices, float* numbers);
  /// Ok if AgentCore::TryTook would accept this at a step with this mask (null: none).
  Status CheckRecord(const std::int32_t* choices, const float* numbers, const std::uint8_t* mask);

  // Of a step.
  /// The words of the last step as the game gets them.
  const std::int32_t* game_words() {
    head_->ToGame(words_.data(), game_.data());
    return game_.data();
  }
  void UseHead(const ActionHead& head) { head_ = &head; }
  void Reseed(std::uint64_t seed) {
    random_ = Random(seed);
    pink_.Restart();
  }
  /// The next step begins an episode, and with it new series of pink noise.
  void NoteFirst() { pink_.Restart(); }
  void ChooseByPolicy(const ActionHead::Row& row, const ActSettings& settings) {
    log_prob_ = head_->Choose(row, settings, random_, words_.data(), &pink_);
  }
  void ChooseDefault() {
    head_->FromGame(default_action_.data(), nullptr, words_.data());
    log_prob_ = 0.0f;
  }
  void ChooseUniform(const std::uint8_t* mask) {
    log_prob_ = head_->ChooseUniform(mask, random_, words_.data());
  }
  /// What the game did, which CheckRecord has found to be good; in the form of ReadAction.
  void Give(const std::int32_t* choices, const float* numbers);
  /// As recorded.
  std::span<const std::int32_t> words() const { return words_; }
  float log_prob() const { return log_prob_; }

  // What the game did instead: Put, then Replace.
  /// Aborts where the action is not one choice.
  void PutDone(int choice, const char* call);
  /// Aborts where the action has other parts than the space.
  void PutDone(const Action& action, const char* call);
  /// In the form of ReadAction.
  void PutDone(const std::int32_t* choices, const float* numbers);
  /// The words become those of what was put; an error, and they stay, where the space or the mask
  /// (null: none) does not allow it.
  Status Replace(const std::uint8_t* mask);
  /// What the game says of an action that it chose itself: finite, and of choices and switches
  /// alone at most 0.
  Status CheckLogProbability(float log_prob) const;
  /// As it is recorded (ActionHead::LogUnit).
  float Recorded(float log_prob) const;
  /// Of the words under the outputs of `row`, or at random without outputs.
  float LogProbability(const ActionHead::Row& row, ActSettings settings) const;

 private:
  const ClientModel& model_;
  const ActionHead* head_;                          ///< the model's, or that of what is fitted
  const std::vector<std::int32_t> default_action_;  ///< as the game gets it
  Random random_;
  PinkNoise pink_;  ///< of each word where there are numbers
  std::vector<std::int32_t> words_;
  std::vector<std::int32_t> game_;         ///< as the game gets them
  std::vector<std::int32_t> drawn_words_;  ///< while what the game did is checked
  float log_prob_ = 0.0f;
};

}  // namespace murmurate
