// Evaluations: the newest evaluation of a model, and the curve of all of them. They are the
// learner's own or, where it makes none, what actors played in Mode(kEvaluate).
#pragma once

#include <optional>
#include <span>

#include "murmurate/status.h"
#include "server/metrics/reading.h"
#include "server/operate/curve.h"
#include "server/operate/evaluation.h"
#include "shared/model/state.h"

namespace murmurate {

class Evaluations {
 public:
  /// Applies an evaluation of the learner's own: from then on only these count.
  void Apply(const Evaluation& evaluation);
  /// Adds episodes that actors played to evaluate; others are left out. Where the learner does not
  /// evaluate, the mean of the last kEpisodeWindow is the evaluation, of weights made `now`.
  void Add(std::span<const EpisodeRecord> episodes, const StepCount& now);

  const std::optional<Evaluation>& newest() const { return newest_; }
  const Curve& curve() const { return curve_; }
  void PutInto(Reading* reading) const;

  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

 private:
  EpisodeList played_;  ///< by actors
  std::optional<Evaluation> newest_;
  bool by_learner_ = false;
  Curve curve_;
};

}  // namespace murmurate
