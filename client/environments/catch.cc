#include "client/environments/catch.h"

#include <algorithm>

namespace murmurate {

Catch::Catch() : spaces_{Image({kRows, kColumns, 1}), Discrete(3)}, random_(RandomIdentity()) {
  Reset();
}

void Catch::Reset(std::uint64_t seed) {
  random_ = Random(seed);
  Reset();
}

void Catch::Reset() {
  ball_row_ = 0;
  ball_column_ = static_cast<int>(random_.UniformInt(kColumns));
  paddle_ = kColumns / 2;
  Draw();
}

void Catch::Draw() {
  board_.fill(0);
  board_[static_cast<std::size_t>(ball_row_ * kColumns + ball_column_)] = 255;
  board_[static_cast<std::size_t>((kRows - 1) * kColumns + paddle_)] = 255;
}

StepOutcome Catch::Step(const Action& action) {
  paddle_ = std::clamp(paddle_ + action.choice() - 1, 0, kColumns - 1);
  ++ball_row_;
  Draw();
  if (ball_row_ < kRows - 1) return {};
  const bool caught = paddle_ == ball_column_;
  return {caught ? 1.0 : -1.0, true, false, caught};
}

}  // namespace murmurate
