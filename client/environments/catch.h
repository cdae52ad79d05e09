// Catch: a ball falls down a board of 10 rows and 5 columns, one row a step, and the paddle in the
// last row should be under it when it arrives. As bsuite's catch (Osband et al., "Behaviour Suite
// for Reinforcement Learning", 2020; first in Mnih et al., "Recurrent Models of Visual Attention",
// 2014), but for the source of the random columns.
//
// Observation: a picture, 10 x 5 x 1 bytes: 255 where the ball or the paddle is. Actions: the
// paddle goes left, stays, goes right. Nine decisions an episode; the last one's reward is 1 when
// the ball is caught and -1 when it is missed, the others' is 0.
#pragma once

#include <array>

#include "client/environments/environment.h"
#include "shared/core/random.h"

namespace murmurate {

class Catch : public Environment {
 public:
  static constexpr int kRows = 10, kColumns = 5;

  Catch();
  const Spaces& spaces() const override { return spaces_; }
  void Reset(std::uint64_t seed) override;
  void Reset() override;
  StepOutcome Step(const Action& action) override;
  Observation observation() const override { return Observation(pixels()); }
  std::span<const std::uint8_t> pixels() const { return board_; }
  int ball_row() const { return ball_row_; }
  int ball_column() const { return ball_column_; }
  int paddle() const { return paddle_; }  ///< its column

 private:
  void Draw();

  const Spaces spaces_;
  Random random_;
  int ball_row_ = 0, ball_column_ = 0, paddle_ = kColumns / 2;
  std::array<std::uint8_t, kRows * kColumns> board_{};
};

}  // namespace murmurate
