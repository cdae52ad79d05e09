// The places of what the on-policy algorithms count in AlgorithmSums.
#pragma once

#include <cstddef>

namespace murmurate::on_policy_sums {

/// The first six are sums over rows of each update, times their weights.
enum Place : std::size_t {
  kWeight,
  kPolicyLoss,
  kValueLoss,
  kEntropy,
  kApproxKl,
  kClipped,
  kExplainedVariance,
  kLagKl,
  kClip,
  kRows,
  kEffective,
  kTruncated,
  kCorrectedRows,  ///< those of V-trace
  kTarget,
  kTargetSpread,
  kAdvantage,
  kAdvantageSpread,
  kDeviation,
  kDeviationRows,
  kUpdates,
  kPolicyGradient,
  kValueGradient,
};

}  // namespace murmurate::on_policy_sums
