// PinkNoise: normally distributed numbers whose power falls with the frequency f as 1/f, so that
// what is near in time is alike and a sum over many steps leads away from where it began: noise to
// explore with (Eberhard et al., "Pink noise is all you need", ICLR 2023).
//
// Each number has a filter of its own, and one draw of Random::Normal a step. From f = 1/1000
// cycles a step to 1/2 the power is within 0.3 dB of 1/f; below that it is flat, so the variance is
// finite. It is exactly 1 at every step from the first one on: the filter is a chain of first-order
// sections, each of which turns its state and its input by a rotation, and a rotation of
// independent normal numbers gives independent normal numbers. scripts/fit-pink-noise.py found the
// constants.
//
// Restart begins a series that is independent of what came before. The authors draw a new series
// for each episode, of the length that their environments' episodes have; an episode that begins
// is a Restart here.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "shared/core/random.h"

namespace murmurate {

class PinkNoise {
 public:
  explicit PinkNoise(int count);  ///< numbers; nothing allocates afterwards

  /// The next call of Next begins new series of all numbers. Draws nothing itself.
  void Restart() { begins_ = true; }
  /// The next step of the numbers first .. first + count - 1; valid until they are asked for again.
  std::span<const float> Next(int first, int count, Random& random);

 private:
  static constexpr int kSections = 5;
  struct Section {
    double keep, change;  ///< the rotation: keep^2 + change^2 = 1
    double weight;        ///< of its state in the sum
  };
  using State = std::array<double, kSections>;
  float Step(State& state, double white) const;

  std::array<Section, kSections> sections_;
  std::vector<State> states_;
  std::vector<float> numbers_;
  bool begins_ = true;
};

}  // namespace murmurate
