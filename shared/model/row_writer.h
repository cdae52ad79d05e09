// RowWriter: puts the rows of a model together (row_space.h) from what the game shows, what it did
// last and what only the learner sees. The client writes them, so everything that holds rows
// (trajectories, frames, batches, statistics) has all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shared/model/action_layout.h"
#include "shared/model/observation_layout.h"
#include "shared/model/previous_step.h"

namespace murmurate {

struct ModelSpec;

class RowWriter {
 public:
  /// `spec` has passed CheckModel.
  explicit RowWriter(const ModelSpec& spec);

  /// Whether anything stands behind the game's observation; otherwise a row is that.
  bool any() const { return previous_.any() || !privileged_.empty(); }
  std::size_t row_bytes() const { return row_bytes_; }

  struct Step {
    std::span<const std::byte> observation;  ///< a row of the game's layout
    std::span<const std::byte> privileged;   ///< of that of Spaces::privileged; empty: zeros
    /// The words as the game got them (ActionHead::ToGame); null: an episode begins, and there is
    /// no reward.
    const std::int32_t* action = nullptr;
    float reward = 0;
  };
  /// `row`: row_bytes().
  void Write(const Step& step, std::byte* row) const;

 private:
  struct Piece {
    std::size_t from = 0, to = 0, bytes = 0;
  };
  static void Add(const ObservationInput& from, const ObservationInput& to,
                  std::vector<Piece>* pieces);
  static void Copy(const std::vector<Piece>& pieces, std::span<const std::byte> from,
                   std::byte* row);
  void WriteAction(const std::int32_t* action, std::byte* row) const;

  const PreviousInputs previous_;
  const ActionLayout action_;
  std::size_t row_bytes_ = 0, game_bytes_ = 0;
  std::vector<Piece> observation_, privileged_;
  std::vector<std::size_t> action_offsets_;  ///< of each part of the action
  std::size_t reward_offset_ = 0;
};

}  // namespace murmurate
