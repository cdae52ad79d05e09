// A tiny game: a hill car without enough power. It must swing back and forth to reach the flag, and
// says every 500 rounds how often it did.
//
// Positions run from -1.2 to 0.6 (the flag stands at 0.5). Three actions: 0 push left, 1 coast, 2
// push right. A step costs 1 point, the flag gives 100; after 400 steps the round is cut. It goes
// on for 20000 rounds, or for $GAME_ROUNDS.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>

class Game {
 public:
  static constexpr int kObservations = 4;  ///< position, speed, height, steps so far (0 to 1)
  static constexpr int kActions = 3;

  explicit Game(unsigned seed = 1) : random_(seed) { Begin(); }

  bool goes_on() const { return round_ <= rounds_; }

  /// The round is over, the next one begins.
  void Reset() {
    wins_ += won();
    if (round_++ % 500 == 0) {
      std::cout << "round " << round_ - 1 << ": the flag was reached " << wins_ << " times of 500"
                << std::endl;
      wins_ = 0;
    }
    Begin();
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
  static int Rounds() {
    const char* const wanted = std::getenv("GAME_ROUNDS");
    return wanted == nullptr ? 20000 : std::atoi(wanted);
  }

  void Begin() {
    position_ = std::uniform_real_distribution<float>(-0.6f, -0.4f)(random_);
    speed_ = 0.0f;
    steps_ = 0;
  }

  std::mt19937 random_;
  float position_ = 0.0f, speed_ = 0.0f;
  int steps_ = 0, wins_ = 0, round_ = 1;
  const int rounds_ = Rounds();
};
