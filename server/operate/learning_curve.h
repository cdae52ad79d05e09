// LearningCurve: means of returns over environment steps as a picture, drawn without any library:
// one run's (plots/learning.svg), or several runs and their seeds (`murmurate plot`).
//
//   ┌ title ───────────────────────┐   A series of one run is a line. One of several runs is the
//   │ ── ppo  ── impala  -- stop at│   median of its runs in a band from the least to the most of
//   │ |    ____                    │   them, each run on the lines between its points. A run that
//   │ | __/                        │   stopped early ends there, at a small dot, and median and
//   │ └──────────────────── steps  │   band are of the others from there on; they start where all
//   └──────────────────────────────┘   have begun.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/operate/curve.h"

namespace murmurate {

struct CurveSeries {
  std::string name;  ///< in the legend
  std::vector<std::vector<CurvePoint>> runs;
};

struct CurveDrawing {
  std::string title;             ///< "cartpole: ppo"
  std::optional<double> target;  ///< a dashed line
  std::string target_name = "stop at";
  std::string y_name = "mean return, last 100 episodes", x_name = "environment steps";
  std::string nothing = "no episode has finished yet";  ///< said where there are no points
};

/// The names of a stream's two curves, the model's error and the naive forecast's, which it has
/// instead of returns.
constexpr char kStreamCurve[] = "model", kNaiveCurve[] = "naive forecast";
/// The drawing of a stream's curves, without a title.
CurveDrawing StreamDrawing();

constexpr std::size_t kMaxSeries = 6;  ///< colours there are

/// An SVG of 800 x 450: axes with ticks and units, a light grid, a legend that never covers a
/// curve, colours that suit a light and a dark page (prefers-color-scheme). At most 40 KB: lines
/// are thinned. Runs without points are left out; without any it says so. More than kMaxSeries
/// series abort.
std::string DrawLearningCurves(const CurveDrawing& drawing, std::span<const CurveSeries> series);

/// CurveSpread is the spread of several runs at one number of steps.
struct CurveSpread {
  std::uint64_t steps = 0;
  double least = 0, median = 0, most = 0;
};
/// The spread at `count` even distances from where the last run begins to where the longest ends,
/// each of the runs that go that far: one that stopped early leaves the median and the range there
/// (one that ends within 2 % of the longest has not). Runs without points do not count.
std::vector<CurveSpread> SpreadOf(std::span<const std::vector<CurvePoint>> runs, int count);
/// The last points of those that stopped early.
std::vector<CurvePoint> EarlyEndsOf(std::span<const std::vector<CurvePoint>> runs);

/// Round numbers (1, 2 or 5 times a power of ten apart) from at or below `low` to at or above
/// `high`, about `count` of them.
std::vector<double> RoundTicks(double low, double high, int count);

/// A column of a run's progress.csv over its steps; rows where it is empty are left out.
Result<std::vector<CurvePoint>> ReadCurve(const std::string& progress_csv,
                                          const std::string& column);
/// Likewise the means of a name in its reports.csv; kInvalidData when there are none.
Result<std::vector<CurvePoint>> ReadReportedCurve(const std::string& reports_csv,
                                                  const std::string& name);

}  // namespace murmurate
