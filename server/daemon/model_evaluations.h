// ModelEvaluations: who evaluates one model of the daemon, and what becomes of what they find: the
// learner's own thread where it knows the game (Evaluating); else the model's actors, by
// evaluation.share of their episodes (EvaluatedPlay).
#pragma once

#include <memory>
#include <span>
#include <string>

#include "server/config/model_settings.h"
#include "server/daemon/evaluated_play.h"
#include "server/daemon/evaluating.h"
#include "server/daemon/run_parts.h"

namespace murmurate {

class ModelEvaluations {
 public:
  /// The parts and `spec` must outlive this.
  ModelEvaluations(RunParts* parts, std::string model, const ModelSpec& spec,
                   const AlgorithmSettings& algorithm);

  /// Before the first version. `from_actors`: it learns from what they play.
  void Begin(bool from_actors);
  /// Of the actors' episodes, after Begin; 0: they evaluate none.
  double share() const { return by_actors_ ? share_ : 0.0; }

  /// The learning thread, with every version; returns at once.
  void Offer(std::shared_ptr<const Snapshot> snapshot, const StepCount& steps);
  /// Episodes of the actors; the polling thread, returns at once.
  void AddPlayed(std::span<const EpisodeRecord> episodes);
  /// Plays the last weights, after the last Offer, where the learner evaluates.
  void Finish(bool somebody_waits);

 private:
  SettingsOfPlay::Values Settings() const;
  void Post(const Evaluation& evaluation) const;
  void PostBest(const Evaluation& evaluation, const SettingsOfPlay::Values& settings,
                std::shared_ptr<const Snapshot> snapshot) const;

  RunParts& parts_;
  const std::string model_;
  const ModelSpec& spec_;
  const double share_;                        ///< that the algorithm and the config allow
  std::unique_ptr<Evaluating> evaluating_;    ///< null where the learner does not play
  std::unique_ptr<EvaluatedPlay> by_actors_;  ///< null: they are asked for none
};

}  // namespace murmurate
