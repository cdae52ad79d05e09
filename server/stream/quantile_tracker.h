// QuantileTracker: where the quantiles of a forecast's errors lie, tracked online, so that as many
// values fall below each as its level says, for forecasts from any model and any change of the
// series.
//
//   error = value - forecast        scale = the usual |error| of the device, over the last 20
//   quantile of level t = forecast + scale q_t
//   after each error:   q_t += step_t (t - [the value lay below the quantile])
//
// (I. Gibbs and E. Candes, "Adaptive conformal inference under distribution shift", 2021; the
// tracker of A. Angelopoulos, E. Candes and R. Tibshirani, "Conformal PID control for time series
// prediction", 2023.) Over T errors the share below q_t differs from t by (q_t's last value - its
// first) / (step_t T), for any sequence of errors: no distribution is assumed. A rare level takes
// larger steps, since it is corrected rarely, and a far horizon smaller ones, since it is corrected
// late: step_t = 0.06 / sqrt(min(t, 1 - t) horizon).
//
// Levels below 0.5 stay at or below the forecast, those above it at or above.
//
// A device's track is a few floats that the caller keeps: the scale, the number of errors, one q
// for each level. The tracker itself has what devices share: the levels, and q of all of them
// together, from which a device starts. One thread; waits for nothing and allocates nothing.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace murmurate {

class QuantileTracker {
 public:
  /// `levels`: each in (0, 1), ascending. `horizon`: rows until an error is known; 0 counts as 1.
  QuantileTracker(std::span<const double> levels, int horizon);

  /// The number of floats of a track. A track of zeros is that of a device without an error so far.
  std::size_t floats() const { return kLevels + levels_.size(); }
  /// Writes how far each quantile lies from the forecast, in order; NaN before the first error.
  void WriteOffsets(std::span<const float> track, std::span<float> offsets) const;
  /// Learns from the error of a forecast. `error` is finite; `offsets` is what WriteOffsets wrote
  /// for that forecast.
  void Update(float error, std::span<const float> offsets, std::span<float> track);

  /// The q that devices start from, for a checkpoint: [levels].
  std::span<const float> pool() const { return pool_; }
  void GoOnFrom(std::span<const float> pool);

 private:
  static constexpr std::size_t kScale = 0, kCount = 1, kLevels = 2;
  static float ScaleOf(std::span<const float> track);
  void Move(std::size_t level, float error, float quantile, float pace, float* q) const;

  std::vector<double> levels_;
  std::vector<float> steps_, pool_;
};

}  // namespace murmurate
