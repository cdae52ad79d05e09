// LearningCurve: plots/learning.svg, the rollout mean over environment steps, and beside it what
// evaluations came to; drawn without any library.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "server/operate/progress.h"

namespace murmurate {

struct CurveDrawing {
  std::string title;             ///< "cartpole: ppo"
  std::optional<double> target;  ///< a dashed line, stop_at_return
  std::span<const CurvePoint> evaluations = {};
};

/// An SVG of 800 x 450: axes with ticks and units, a light grid, the curve. Without points it says
/// so.
std::string DrawLearningCurve(const CurveDrawing& drawing, std::span<const CurvePoint> points);

/// Round numbers (1, 2 or 5 times a power of ten apart) from at or below `low` to at or above
/// `high`, about `count` of them.
std::vector<double> RoundTicks(double low, double high, int count);

}  // namespace murmurate
