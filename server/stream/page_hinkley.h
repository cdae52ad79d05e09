// PageHinkley: notices that a mean has risen for good (E. S. Page, "Continuous inspection schemes",
// Biometrika 41, 1954; the form for streams of J. Gama et al., "Learning with drift detection",
// 2004). Of errors in usual errors of the naive forecast: that what was learned no longer holds.
//
//   m_t = sum over i of (x_i - mean_i - tolerance),   drift when m_t - min m > threshold
//
// mean_i is the mean of the values since the last drift. A rise by r is noticed after about
// threshold / (r - tolerance) values; less than `tolerance` never.
#pragma once

#include <algorithm>

namespace murmurate {

struct PageHinkleySettings {
  double threshold = 50;  ///< 0: nothing is ever noticed
  double tolerance = 0.1;
};

class PageHinkley {
 public:
  explicit PageHinkley(const PageHinkleySettings& settings) : settings_(settings) {}

  /// True: the mean has risen, and everything begins again with what comes.
  bool Update(double x) {
    if (settings_.threshold <= 0) return false;
    ++state_.count;
    state_.mean += (x - state_.mean) / state_.count;
    state_.sum += x - state_.mean - settings_.tolerance;
    state_.lowest = std::min(state_.lowest, state_.sum);
    if (state_.sum - state_.lowest <= settings_.threshold) return false;
    state_ = {};
    return true;
  }

  struct State {
    double count = 0, mean = 0, sum = 0, lowest = 0;
  };
  const State& state() const { return state_; }
  void GoOnFrom(const State& state) { state_ = state; }

 private:
  const PageHinkleySettings settings_;
  State state_;
};

}  // namespace murmurate
