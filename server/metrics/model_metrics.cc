#include "server/metrics/model_metrics.h"

namespace murmurate {
namespace {

template <const Metric*... metrics>
std::span<const Metric* const> Listed() {
  static constexpr const Metric* kList[] = {metrics...};
  return kList;
}

}  // namespace

std::span<const Metric* const> ProgressColumns() {
  return Listed<&kEnvironmentSteps, &kElapsed, &kOverallRate, &kTrainedSteps, &kUpdates, &kVersion,
                &kStaleness, &kStalenessMax, &kDroppedSteps, &kLearnerWait, &kActorWait,
                &kMeanReturn, &kMeanLength, &kEpisodeCount, &kSuccessRate, &kEvalReturn,
                &kEvalDeviation, &kEvalLength, &kEvalSuccess, &kEvalSteps, &kPolicyLoss,
                &kValueLoss, &kEntropyLoss, &kApproxKl, &kClipFraction, &kExplainedVariance,
                &kGradNorm, &kLearningRate, &kClipRange, &kLoss, &kAccuracy, &kLabelError,
                &kEvalLoss, &kEvalAccuracy, &kDataWait, &kExchangeStaleness, &kExchangeStalenessMax,
                &kExchangeDistance, &kExchangeWait, &kExchangeLate, &kExchangeWasted, &kLateSteps,
                &kLearnedSteps, &kLagKl, &kEffectiveShare, &kTruncatedShare, &kValueTargetMean,
                &kValueTargetDeviation, &kAdvantageMean, &kAdvantageDeviation, &kPolicyDeviation,
                &kPolicyGradNorm, &kValueGradNorm>();
}

std::span<const Metric* const> ScoreMetrics() {
  return Listed<&kLoss, &kAccuracy, &kLabelError, &kEvalLoss, &kEvalAccuracy>();
}

}  // namespace murmurate
