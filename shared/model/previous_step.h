// What an agent did last and how it was rewarded for it, as inputs of its model. A model that
// remembers can then find out within an episode what pays (RL^2: Duan et al. 2016, Wang et al.
// 2016; also IMPALA, Espeholt et al. 2018, and R2D2, Kapturowski et al. 2019).
//
// The game's spaces do not know of it: the client writes it into the rows of such a model, as further
// parts of the observation (row_space.h):
//
//   previous_action         choices: categories, 0 where the episode begins, else 1 + the choice
//                           switches: categories, 0 where the episode begins, else 1 (off), 2 (on)
//                           numbers: float32 as the game got them, -1 to 1 within their box; as
//                           they are where ScaleOf has no scale; 0 where the episode begins
//   previous_action.NAME    the same for each part of an action that has parts
//   previous_reward         float32: ReducedReward of what was rewarded since that action; 0 where
//                           the episode begins
//
// With normalize_observation the float32 parts are normalized as those of the game.
#pragma once

namespace murmurate {

struct PreviousInputs {
  bool action = false;
  bool reward = false;

  bool any() const { return action || reward; }
  friend bool operator==(const PreviousInputs&, const PreviousInputs&) = default;
};

/// sign(r) (sqrt(|r| + 1) - 1): about r / 2 for small rewards, and no large number for any. The
/// value scale of Pohlen et al. 2018, without its linear term. The same bits on every processor.
float ReducedReward(float reward);

}  // namespace murmurate
