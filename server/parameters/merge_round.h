// Rounds of the rules with a barrier (sync, sagn, easgd; rule_settings.h): which pushes are of a
// round, and their merge. Pure functions, as in update_rule.h; they allocate nothing.
//
// N + b workers push, stamped with the round they belong to; the first N of this round are merged,
// the b later ones never change anything (Chen et al. 2016, backup workers). Sums run in the order
// of worker numbers, so the result depends on which were among the first N, never on the order of
// arrival; and a round of n workers is, bit for bit, the gradients that one worker accumulates in
// that order.
#pragma once

#include <cstdint>
#include <span>

#include "server/parameters/optimizer.h"
#include "server/parameters/rule_settings.h"

namespace murmurate {

struct RoundPart {
  std::uint32_t worker = 0;
  std::uint64_t round = 0;  ///< its stamp: merges of the center that it was computed from
  float rate_ratio = 1.0f;  ///< sync, sagn: eta_i / eta of a worker with a rate of its own
  std::span<const float> contribution;
};

/// Takes from `arrivals`, in the order they came, the first that are stamped `round`, one of each
/// worker, until `chosen` is full; writes them in the order of workers; returns how many. The round
/// can be merged when that is N = chosen.size(), or all that are left.
std::size_t ChooseRound(std::uint64_t round, std::span<const RoundPart> arrivals,
                        std::span<RoundPart> chosen);

/// min(1, max_norm / norm), as torch.nn.utils.clip_grad_norm_ without its epsilon; 1 for `max_norm`
/// 0, which means never.
float ClipFactor(double norm, double max_norm);

struct RoundStep {
  float learning_rate = 0.0f;
  /// The limit of the averaged gradient (sync, sagn) over this range; 0: never clipped. For one
  /// limit on a model in several shards the workers clip, before they push.
  double max_grad_norm = 0.0;
};

/// Merges the parts (at least one, in the order of workers):
///   sync, sagn   mean = (1/N) sum_i rate_ratio_i contribution_i,
///                center <- Opt(center, ClipFactor * mean), and its LookAhead
///   easgd        center += sum_i contribution_i (no optimizer: may be null)
/// Returns the norm of the mean before it was clipped, or of the sum. If that is not finite nothing
/// changes. `scratch` has the center's size and is overwritten.
double MergeRound(const RuleSettings& rule, std::span<const RoundPart> parts, const RoundStep& step,
                  std::span<float> scratch, std::span<float> center, Optimizer* optimizer);

}  // namespace murmurate
