#include "server/daemon/training_update.h"

#include <algorithm>
#include <cmath>

#include "server/metrics/model_metrics.h"

namespace murmurate {
namespace {

/// Fractions of the time since the model was made; for actors, of their agents' play time.
void MeasureWaits(const ExperienceChannel& channel, TrainingUpdate* update) {
  const double lived_ns =
      static_cast<double>(std::max<std::int64_t>(1, update->at_ns - channel.since_ns));
  const double waited_ns = static_cast<double>(channel.learner_waited_ns.load()) / channel.learners;
  update->lived_s = lived_ns * 1e-9;
  update->waited_s = waited_ns * 1e-9;
  update->metrics.Set(kLearnerWait, waited_ns / lived_ns);
  update->metrics.Set(kIngestWait, static_cast<double>(channel.ingest_waited_ns.load()) / lived_ns);
  if (const auto played_ns = static_cast<double>(channel.actors_played_ns.load()); played_ns > 0)
    update->metrics.Set(kActorWait,
                        static_cast<double>(channel.actors_waited_ns.load()) / played_ns);
}

void MeasureLearning(const LearnReport& report, Measurements* metrics) {
  metrics->Set(kTrainedSteps, static_cast<double>(report.trained_steps));
  metrics->Set(kUpdates, static_cast<double>(report.updates));
  metrics->Set(kVersion, static_cast<double>(report.version));
  metrics->Set(kStaleness, report.staleness_mean);
  metrics->Set(kStalenessMax, report.staleness_max);
  metrics->Set(kPolicyLoss, report.policy_loss);
  metrics->Set(kValueLoss, report.value_loss);
  metrics->Set(kEntropyLoss, -report.entropy);
  metrics->Set(kApproxKl, report.approx_kl);
  metrics->Set(kLagKl, report.lag_kl);
  metrics->Set(kClipFraction, report.clip_fraction);
  metrics->Set(kExplainedVariance, report.explained_variance);
  metrics->Set(kGradNorm, report.grad_norm);
  metrics->Set(kLearningRate, report.learning_rate);
  metrics->Set(kClipRange, report.clip_range);
  metrics->Set(kLoss, report.loss);
  metrics->Set(kAccuracy, report.accuracy);
  metrics->Set(kLabelError, report.error);
  metrics->Set(kEffectiveShare, report.effective_share);
  metrics->Set(kTruncatedShare, report.truncated_share);
  metrics->Set(kValueTargetMean, report.target_mean);
  metrics->Set(kValueTargetDeviation, report.target_deviation);
  metrics->Set(kAdvantageMean, report.advantage_mean);
  metrics->Set(kAdvantageDeviation, report.advantage_deviation);
  metrics->Set(kPolicyDeviation, report.policy_deviation);
  metrics->Set(kPolicyGradNorm, report.policy_grad_norm);
  metrics->Set(kValueGradNorm, report.value_grad_norm);
  for (const auto& [metric, value] : report.metrics) metrics->Set(*metric, value);
}

bool IsFinite(const LearnReport& report) {
  return report.skipped_updates == 0 && std::isfinite(report.policy_loss) &&
         std::isfinite(report.value_loss) && std::isfinite(report.entropy) &&
         std::isfinite(report.grad_norm);
}

void MeasureExchanges(const ExchangeReport& exchange, Measurements* metrics) {
  if (exchange.exchanges == 0) return;
  metrics->Set(kExchangeStaleness, exchange.staleness_mean);
  metrics->Set(kExchangeStalenessMax, exchange.staleness_max);
  metrics->Set(kExchangeDistance, exchange.distance_mean);
  metrics->Set(kExchangeWait, exchange.wait_s);
  metrics->Set(kExchangeLate, static_cast<double>(exchange.late));
  metrics->Set(kExchangeWasted, exchange.wasted_share);
}

}  // namespace

TrainingUpdate ToUpdate(const std::string& model, ExperienceChannel& channel,
                        const LearnReport& report, StepCount steps, std::int64_t now_ns) {
  TrainingUpdate update{.model = model,
                        .at_ns = now_ns,
                        .steps = steps,
                        .eval_rows = report.eval_rows,
                        .held_out = report.held_out,
                        .finite = IsFinite(report),
                        .episodes = report.episodes};
  MeasureWaits(channel, &update);
  if (!report.counted_only) MeasureLearning(report, &update.metrics);
  MeasureExchanges(report.exchange, &update.metrics);
  update.metrics.Set(kDroppedSteps, static_cast<double>(channel.dropped_steps.load()));
  update.metrics.Set(
      kLateSteps, static_cast<double>(report.late_steps + channel.refused_late_steps.exchange(0)));
  if (report.eval_rows > 0) {
    update.metrics.Set(kEvalLoss, report.eval_loss);
    update.metrics.Set(kEvalAccuracy, report.eval_accuracy);
  }
  return update;
}

}  // namespace murmurate
