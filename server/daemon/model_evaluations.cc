#include "server/daemon/model_evaluations.h"

#include <utility>

#include "server/daemon/make_checkpoint.h"
#include "server/data/segment_writer.h"
#include "server/learn/algorithm.h"
#include "server/metrics/number_text.h"
#include "server/operate/operate_settings.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

/// 0 where the agents' episodes cannot be evaluations: labels are of actions that others chose, a
/// learner that takes its newest version only needs every step of it, and a recording has all that
/// is played.
double ShareFor(const Config& config, const AlgorithmSettings& algorithm) {
  const bool may = algorithm.kind->own_play && algorithm.staleness != StalenessPolicy::kBlock &&
                   config.recording().folder.empty();
  return may ? config.evaluation().share : 0.0;
}

}  // namespace

ModelEvaluations::ModelEvaluations(RunParts* parts, std::string model, const ModelSpec& spec,
                                   const AlgorithmSettings& algorithm)
    : parts_(*parts),
      model_(std::move(model)),
      spec_(spec),
      share_(ShareFor(parts->config, algorithm)) {}

void ModelEvaluations::Begin(bool from_actors) {
  evaluating_ = Evaluating::Make(
      parts_.config, model_, spec_, [this] { return Settings(); },
      [this](const Evaluation& evaluation, const SettingsOfPlay::Values& under,
             std::shared_ptr<const Snapshot> snapshot) {
        Post(evaluation);
        PostBest(evaluation, under, std::move(snapshot));
      },
      parts_.log);
  if (share_ == 0.0 || !from_actors || Evaluating::Knows(parts_.config, spec_)) return;
  parts_.log(LogLevel::kInfo, "model " + model_ + ": " + FormatNumber("%.3g", 100.0 * share_) +
                                  " % of its actors' episodes are played without exploration, to "
                                  "evaluate it (evaluation.share)");
  by_actors_ = std::make_unique<EvaluatedPlay>([this] { return Settings(); },
                                               [this](EvaluatedPlay::Result result) {
                                                 Post(result.evaluation);
                                                 if (result.best)
                                                   PostBest(result.evaluation, result.settings,
                                                            std::move(result.snapshot));
                                               });
}

void ModelEvaluations::Offer(std::shared_ptr<const Snapshot> snapshot, const StepCount& steps) {
  if (by_actors_) by_actors_->OnSnapshot(snapshot, steps);
  if (evaluating_) evaluating_->Offer(std::move(snapshot), steps);
}

void ModelEvaluations::AddPlayed(std::span<const EpisodeRecord> episodes) {
  if (by_actors_) by_actors_->Add(episodes, MonotonicNs());
}

void ModelEvaluations::Finish(bool somebody_waits) {
  if (evaluating_) evaluating_->Finish(somebody_waits);
}

SettingsOfPlay::Values ModelEvaluations::Settings() const {
  const auto now = parts_.live->settings();
  return {now.begin(), now.end()};
}

void ModelEvaluations::Post(const Evaluation& evaluation) const {
  parts_.operate->PostEvaluation(model_, evaluation);
}

void ModelEvaluations::PostBest(const Evaluation& evaluation,
                                const SettingsOfPlay::Values& settings,
                                std::shared_ptr<const Snapshot> snapshot) const {
  parts_.operate->PostBest(
      model_, {evaluation.mean_return, settings},
      MakerOf(parts_.config, spec_, std::move(snapshot), evaluation.made_after()));
}

}  // namespace murmurate
