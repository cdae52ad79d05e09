// The metrics of a model: how far it is, what its games came to, what its learning came to.
//
// Two numbers are never mixed: rollout/ep_rew_mean is the mean raw return of the last 100 finished
// training episodes, exploration on, and empty before the first; eval/mean_reward belongs to frozen
// weights (server/operate/evaluation.h). The x of every curve is kEnvironmentSteps, those that
// actors took. Of these kDroppedSteps were never sent, kLateSteps came and were too old to be
// learned from (max_staleness, or the batch of their version closed), and kTrainedSteps were
// learned from. kLearnedSteps is where schedules, budgets and checkpoints are: the trained steps,
// but of files and streams their rows, and a run that an earlier version saved counts on from its
// checkpoint's number.
#pragma once

#include <span>

#include "server/metrics/metric.h"

namespace murmurate {

inline constexpr Metric kEnvironmentSteps{"time/total_timesteps", MetricKind::kTotal, "steps",
                                          "environment steps that actors took", "steps"};
inline constexpr Metric kElapsed{"time/time_elapsed", MetricKind::kGauge, "s",
                                 "time since the run began, over all its lives"};
inline constexpr Metric kOverallRate{"time/fps", MetricKind::kGauge, "steps/s",
                                     "environment steps a second since the run began"};
inline constexpr Metric kTrainedSteps{"train/trained_steps", MetricKind::kCounter, "steps",
                                      "steps learned from", "trained_steps"};
inline constexpr Metric kUpdates{"train/updates", MetricKind::kCounter, "", "optimizer steps",
                                 "updates"};
inline constexpr Metric kVersion{"train/version", MetricKind::kTotal, "",
                                 "the newest version of the weights", "version"};
inline constexpr Metric kStaleness{"train/policy_lag_avg", MetricKind::kMean, "versions",
                                   "how old the weights were that a batch was played under",
                                   "staleness"};
inline constexpr Metric kStalenessMax{"train/policy_lag_max", MetricKind::kMax, "versions",
                                      "of the oldest trajectory of a batch"};
inline constexpr Metric kDroppedSteps{"perf/dropped_steps", MetricKind::kTotal, "steps",
                                      "environment steps that were never sent", "dropped_steps"};
inline constexpr Metric kLearnerWait{"perf/learner_wait", MetricKind::kGauge, "of 1",
                                     "the learning thread's time without a batch, so far",
                                     "learner_wait"};
inline constexpr Metric kActorWait{"perf/actor_wait", MetricKind::kGauge, "of 1",
                                   "the agents' time inside Act for credit or weights, so far",
                                   "actor_wait"};
inline constexpr Metric kMeanReturn{"rollout/ep_rew_mean", MetricKind::kGauge, "",
                                    "mean raw return of the last 100 training episodes",
                                    "mean_return"};
inline constexpr Metric kMeanLength{"rollout/ep_len_mean", MetricKind::kGauge, "steps",
                                    "their mean length"};
inline constexpr Metric kEpisodeCount{"rollout/episodes", MetricKind::kTotal, "",
                                      "finished training episodes", "episodes"};
inline constexpr Metric kSuccessRate{"rollout/success_rate", MetricKind::kGauge, "of 1",
                                     "successes among the last 100 that say", "success_rate"};
inline constexpr Metric kEvalReturn{"eval/mean_reward", MetricKind::kGauge, "",
                                    "mean return of frozen weights without exploration",
                                    "evaluation.mean_return"};
inline constexpr Metric kEvalDeviation{"eval/std_reward", MetricKind::kGauge, "",
                                       "standard deviation of those returns",
                                       "evaluation.deviation"};
inline constexpr Metric kEvalLength{"eval/mean_ep_length", MetricKind::kGauge, "steps",
                                    "their mean length", "evaluation.mean_length"};
inline constexpr Metric kEvalSuccess{"eval/success_rate", MetricKind::kGauge, "of 1",
                                     "successes among them", "evaluation.success_rate"};
inline constexpr Metric kEvalSteps{"eval/timesteps", MetricKind::kTotal, "steps",
                                   "environment steps when those weights were made",
                                   "evaluation.steps"};
inline constexpr Metric kPolicyLoss{"train/policy_gradient_loss"};
inline constexpr Metric kValueLoss{"train/value_loss"};
inline constexpr Metric kEntropyLoss{"train/entropy_loss", MetricKind::kGauge, "",
                                     "the negative entropy"};
inline constexpr Metric kApproxKl{"train/approx_kl", MetricKind::kGauge, "",
                                  "KL of the policy against the one the update began with"};
inline constexpr Metric kClipFraction{"train/clip_fraction"};
inline constexpr Metric kExplainedVariance{"train/explained_variance"};
inline constexpr Metric kGradNorm{"train/grad_norm"};
inline constexpr Metric kLearningRate{"train/learning_rate"};
inline constexpr Metric kClipRange{"train/clip_range"};
inline constexpr Metric kLoss{"train/loss", MetricKind::kGauge, "",
                              "of labels, over what was learned"};
inline constexpr Metric kAccuracy{"train/accuracy"};
inline constexpr Metric kLabelError{"train/error"};
inline constexpr Metric kEvalLoss{
    "eval/loss", MetricKind::kGauge, "",
    "over held-out rows after the last pass, or rows not yet learned"};
inline constexpr Metric kEvalAccuracy{"eval/accuracy"};
inline constexpr Metric kDataWait{"perf/data_wait", MetricKind::kMean, "of 1",
                                  "the learning thread's time without a batch, since the last row"};
inline constexpr Metric kExchangeStaleness{"parameters/staleness", MetricKind::kGauge, "versions",
                                           "how far the shared parameters were ahead",
                                           "exchange_staleness"};
inline constexpr Metric kExchangeStalenessMax{"parameters/staleness_max", MetricKind::kGauge,
                                              "versions", "of the worst exchange of a batch"};
inline constexpr Metric kExchangeDistance{"parameters/distance"};
inline constexpr Metric kExchangeWait{"parameters/wait_s", MetricKind::kGauge, "s",
                                      "inside exchanges, for answers"};
inline constexpr Metric kExchangeLate{"parameters/late", MetricKind::kGauge, "",
                                      "pushes that came after their round"};
inline constexpr Metric kExchangeWasted{"parameters/wasted", MetricKind::kGauge, "of 1",
                                        "local steps that the elastic force undid"};
inline constexpr Metric kLateSteps{"perf/late_steps", MetricKind::kCounter, "steps",
                                   "steps that came too late to be learned from", "late_steps"};
inline constexpr Metric kLearnedSteps{"time/learned_steps", MetricKind::kTotal, "steps",
                                      "where schedules, budgets and checkpoints are",
                                      "learned_steps"};
inline constexpr Metric kLagKl{"train/lag_kl", MetricKind::kGauge, "",
                               "KL of the policy an update began with against what played"};
inline constexpr Metric kEffectiveShare{"train/ess", MetricKind::kGauge, "of 1",
                                        "effective sample size of the weights pi/mu of a batch"};
inline constexpr Metric kTruncatedShare{"train/rho_truncated", MetricKind::kGauge, "of 1",
                                        "steps whose pi/mu V-trace truncates"};
inline constexpr Metric kValueTargetMean{"train/value_target_mean"};
inline constexpr Metric kValueTargetDeviation{"train/value_target_std"};
inline constexpr Metric kAdvantageMean{"train/advantage_mean", MetricKind::kGauge, "",
                                       "before advantages are normalized"};
inline constexpr Metric kAdvantageDeviation{"train/advantage_std"};
inline constexpr Metric kPolicyDeviation{
    "train/std", MetricKind::kGauge, "",
    "mean standard deviation of the policy's continuous parts"};
inline constexpr Metric kPolicyGradNorm{"train/grad_norm_policy", MetricKind::kGauge, "",
                                        "the policy's part of the gradient, before clipping"};
inline constexpr Metric kValueGradNorm{"train/grad_norm_value", MetricKind::kGauge, "",
                                       "the part of the value's own layers, before clipping"};

/// The columns of progress.csv, in their order; new ones come last.
std::span<const Metric* const> ProgressColumns();

// Live ones, which no file has.
inline constexpr Metric kStepRate{"perf/steps_per_second",      MetricKind::kGauge, "steps/s",
                                  "over about the last second", "steps_per_second", false};
inline constexpr Metric kBudget{"time/budget",        MetricKind::kGauge, "steps",
                                "to be learned from", "budget",           false};
inline constexpr Metric kEta{
    "time/eta_s", MetricKind::kGauge,
    "s",          "until the budget is spent, at the rate of the last half minute",
    "eta_s",      false};
inline constexpr Metric kTargetReturn{
    "rollout/target", MetricKind::kGauge, "", "the return that ends the run", "target", false};
inline constexpr Metric kIngestWait{"perf/ingest_wait",
                                    MetricKind::kGauge,
                                    "of 1",
                                    "experience for a free batch, so far",
                                    "ingest_wait",
                                    false};
inline constexpr Metric kBatchWait{
    "perf/batch_wait",
    MetricKind::kHistogram,
    "s",
    "how long the learning thread waited for each batch, in this life",
    "",
    false};
inline constexpr Metric kEvalEpisodes{"eval/episodes",      MetricKind::kTotal,    "",
                                      "episodes evaluated", "evaluation.episodes", false};
inline constexpr Metric kEvalLearnedSteps{"eval/learned_steps",
                                          MetricKind::kTotal,
                                          "steps",
                                          "the number of the weights' checkpoint",
                                          "evaluation.learned_steps",
                                          false};
inline constexpr Metric kCheckpointsWritten{
    "checkpoint/written", MetricKind::kTotal, "", "", "checkpoints_written", false};
inline constexpr Metric kCheckpointFailures{
    "checkpoint/failures", MetricKind::kTotal, "", "", "checkpoint_failures", false};
inline constexpr Metric kCheckpointStep{"checkpoint/step",      MetricKind::kTotal, "steps",
                                        "of the last good one", "checkpoint_step",  false};
inline constexpr Metric kCheckpointTrouble{
    "checkpoint/trouble",          MetricKind::kText,    "",
    "why the last attempt failed", "checkpoint_trouble", false};
inline constexpr Metric kBestFailures{
    "checkpoint/best_failures", MetricKind::kTotal, "", "", "best_failures", false};
inline constexpr Metric kBestTrouble{"checkpoint/best_trouble",
                                     MetricKind::kText,
                                     "",
                                     "why the best weights were not kept",
                                     "best_trouble",
                                     false};
/// A number that a game reports by name, its label (Agent::Report).
inline constexpr Metric kReported{"reports", MetricKind::kMean, "", "by name", "reports.*", true};

/// The metrics of supervised learning and cloning, which a run that earns no return shows instead.
std::span<const Metric* const> ScoreMetrics();

}  // namespace murmurate
