// A tiny game: a hill car without enough power. It must swing back and forth to reach the flag.
//
// Positions run from -1.2 to 0.6 (the flag stands at 0.5). Three actions: 0 push left, 1 coast, 2
// push right. A step costs 1 point, the flag gives 100; after 400 steps the round is cut.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

class Game {
 public:
  static constexpr int kObservations = 4;  ///< position, speed, height, steps so far (0 to 1)
  static constexpr int kActions = 3;

  explicit Game(unsigned seed = 1) : random_(seed) { Reset(); }

  void Reset() {
    position_ = std::uniform_real_distribution<float>(-0.6f, -0.4f)(random_);
    speed_ = 0.0f;
    steps_ = 0;
  }

  void Step(int action) {
    speed_ += 0.0015f * static_cast<float>(action - 1) - 0.0025f * std::cos(3.0f * position_);
    speed_ = std::clamp(speed_, -0.07f, 0.07f);
    position_ = std::clamp(position_ + speed_, -1.2f, 0.6f);
    if (position_ <= -1.2f) speed_ = 0.0f;
    ++steps_;
  }

  std::array<float, kObservations> observation() const {
    return {position_, speed_ * 10.0f, std::sin(3.0f * position_),
            static_cast<float>(steps_) / 400.0f};
  }
  /// Of the last step. The speed bonus is what a designer adds so that the first flag is found
  /// soon.
  float reward() const { return won() ? 100.0f : -1.0f + 10.0f * std::abs(speed_); }
  bool won() const { return position_ >= 0.5f; }
  bool timed_out() const { return !won() && steps_ >= 400; }

 private:
  std::mt19937 random_;
  float position_ = 0.0f, speed_ = 0.0f;
  int steps_ = 0;
};
