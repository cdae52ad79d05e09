// EncodedActions: recorded actions as networks read them (ActionLayout::encoded_count): a choice as
// one-hot, a switch as 0 or 1, a number as the game got it, in units of its box (-1 at low, 1 at
// high; without bounds, or of a box wider than kWidestScaledBox, in the game's own).
#pragma once

#include <cstdint>
#include <vector>

#include "shared/inference/action_head.h"

namespace murmurate {

class EncodedActions {
 public:
  explicit EncodedActions(const ActionLayout& layout);

  std::size_t count() const { return count_; }  ///< numbers of an action
  /// Writes [rows][count()] of [rows][words].
  void Encode(const std::int32_t* recorded, int rows, float* encoded);

 private:
  /// How one word of an action is written.
  struct Word {
    int choices = 0;  ///< 0: it is no choice
    bool is_number = false;
    ActionScale box = {};
  };

  const ActionHead head_;
  std::vector<Word> words_;
  std::vector<std::int32_t> game_;  ///< an action as the game got it
  std::size_t count_ = 0;
};

}  // namespace murmurate
