// Evaluating: the thread mmr-evaluate with its Evaluator, for a model that plays the game the
// config names in run.environment. Its share of the processor is the smallest there is (nice 19).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/config/config.h"
#include "server/daemon/evaluator.h"
#include "shared/core/loop.h"

namespace murmurate {

class Evaluating {
 public:
  /// Null when [evaluation] says never, or run.environment is not set or not this model's game; the
  /// log says which of the last. Without run.steps there are no parts of it: only Finish plays.
  /// `live`: the games' settings as they are, asked as each evaluation begins.
  static std::unique_ptr<Evaluating> Make(const Config& config, const std::string& model,
                                          const ModelSpec& spec,
                                          std::function<SettingsOfPlay::Values()> live,
                                          OnEvaluation on_evaluation, LogCallback log);

  /// Whether run.environment is a built-in game with the spaces of `spec`.
  static bool Knows(const Config& config, const ModelSpec& spec);

  /// The learning thread, with every version; returns at once (see Evaluator).
  void Offer(std::shared_ptr<const Snapshot> snapshot, StepCount steps);
  /// Ends the thread, after the last Offer, and plays the last version on the caller's and three
  /// more, or as many as there are processors; for at most 5 s when a user waits for the end,
  /// else 60 s.
  void Finish(bool somebody_waits);

 private:
  Evaluating(EvaluatorOptions options, Environments environments);

  std::shared_ptr<const Snapshot> newest_;
  StepCount newest_steps_;
  Evaluator evaluator_;
  std::unique_ptr<Loop> loop_;  ///< last: its thread uses the evaluator
};

}  // namespace murmurate
