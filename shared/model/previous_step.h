// What an agent did last and how it was rewarded for it, as inputs of its model. A model that
// remembers can then find out within an episode what pays (RL^2: Duan et al. 2016, Wang et al.
// 2016; also IMPALA, Espeholt et al. 2018, and R2D2, Kapturowski et al. 2019).
//
// The game's spaces do not know of it. A row of such a model is the game's observation with further
// parts behind it, written by the client, so that everything that holds rows (trajectories, frames,
// batches, statistics) has them too:
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

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "murmurate/spaces.h"
#include "shared/model/action_layout.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

struct ModelSpec;

struct PreviousInputs {
  bool action = false;
  bool reward = false;

  bool any() const { return action || reward; }
  friend bool operator==(const PreviousInputs&, const PreviousInputs&) = default;
};

/// The observation and behind it the parts above: an observation that has no parts becomes the part
/// without a name.
Space RowSpace(const Spaces& spaces, PreviousInputs previous);
/// Checks: no part of the observation has the name of one above.
Status CheckPrevious(const Space& observation, PreviousInputs previous);

/// sign(r) (sqrt(|r| + 1) - 1): about r / 2 for small rewards, and no large number for any. The
/// value scale of Pohlen et al. 2018, without its linear term. The same bits on every processor.
float ReducedReward(float reward);

/// Puts rows together: where the parts lie.
class PreviousStepRow {
 public:
  /// `spec` has passed CheckModel.
  explicit PreviousStepRow(const ModelSpec& spec);

  /// Whether a row has such parts; otherwise it is the game's.
  bool any() const { return previous_.any(); }
  std::size_t row_bytes() const { return row_bytes_; }
  /// `row`: row_bytes(). `observation`: a row of the game's layout. `action`: the words as the game
  /// got them (ActionHead::ToGame); null: an episode begins, and there is no reward.
  void Write(std::span<const std::byte> observation, const std::int32_t* action, float reward,
             std::byte* row) const;

 private:
  void WriteAction(const std::int32_t* action, std::byte* row) const;

  const PreviousInputs previous_;
  const ActionLayout action_;
  std::size_t row_bytes_ = 0;
  std::size_t first_ = 0;                    ///< behind the game's numbers and categories
  std::size_t bytes_ = 0;                    ///< of the parts; the game's bytes follow
  std::vector<std::size_t> action_offsets_;  ///< of each part of the action
  std::size_t reward_offset_ = 0;
};

}  // namespace murmurate
