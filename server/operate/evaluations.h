// Evaluations: the newest evaluation of a model, and the curve of all of them. They are of weights
// that the learner chose (its own evaluation, or what its actors played of evaluation.share) or,
// where there are none, of what actors played in Mode(kEvaluate).
#pragma once

#include <optional>
#include <span>

#include "murmurate/status.h"
#include "server/metrics/reading.h"
#include "server/operate/curve.h"
#include "server/operate/evaluation.h"
#include "shared/model/state.h"

namespace murmurate {

inline constexpr Metric kEvalBy{"eval/by",
                                MetricKind::kText,
                                "",
                                "who played them: learner, evaluation.share or Mode(kEvaluate)",
                                "evaluation.by",
                                false};

class Evaluations {
 public:
  /// Applies an evaluation of weights: from then on only these count.
  void Apply(const Evaluation& evaluation);
  /// Adds episodes that actors played in Mode(kEvaluate); others are left out. Where there is no
  /// evaluation of weights, the mean of the last kEpisodeWindow is it, of weights made `now`.
  void Add(std::span<const EpisodeRecord> episodes, const StepCount& now);

  const std::optional<Evaluation>& newest() const { return newest_; }
  const Curve& curve() const { return curve_; }
  void PutInto(Reading* reading) const;

  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

 private:
  EpisodeList played_;  ///< by actors
  std::optional<Evaluation> newest_;
  bool of_weights_ = false;  ///< Apply was called
  Curve curve_;
};

}  // namespace murmurate
