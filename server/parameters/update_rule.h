// The two halves of every update rule (rule_settings.h has the rules and their papers), as pure
// functions of their arguments: no state, thread, lock, clock or allocation.
//
//   worker i                                         shard
//   gradient -> AddToWindow, and if StepsLocally
//               a step of the worker's optimizer
//   after T:    Contribution  ----- contribution --> Merge (rules without a barrier)
//                                                    ChooseRound, MergeRound (merge_round.h)
//               Adopt         <---- answer --------- the center, or e
//               LookAhead of the worker's optimizer
//
// A range may be cut in any way: each function but adag's Merge gives the same bits for the whole
// as for its parts one after the other. The arithmetic is that of apply.h, so that rules that are
// equal on paper are equal bit for bit: one worker, window 1, gradient form is plain SGD under each
// of them.
//
// The elastic rules take e at x_i before the next local step. A worker that sends x_i at the end of
// one step and adopts e after the next one has the papers' order: that gradient was taken at x_i
// before e. One that waits for e at once takes its next gradient after e.
//
// Spans that belong together have one size; a span that a rule does not use may be empty. Numbers
// are finite: a worker pushes no gradient that is not (LocalStore leaves those out).
#pragma once

#include <cstdint>
#include <span>

#include "server/parameters/optimizer.h"
#include "server/parameters/rule_settings.h"

namespace murmurate {

// ---- Worker ----

/// accumulated <- accumulated + scale * gradient, or, for the first of a window (`before` == 0),
/// scale * gradient: the sum that Contribution takes. `scale` is that of clipping.
void AddToWindow(std::span<const float> gradient, float scale, int before,
                 std::span<float> accumulated);

/// WorkerWindow is what the worker knows of its window when it pushes.
struct WorkerWindow {
  std::span<const float> local;        ///< x_i (not the look-ahead)
  std::span<const float> pulled;       ///< where WorkerKeepsPulled: the last center
  std::span<const float> accumulated;  ///< gradient form: their sum
  int steps = 1;                       ///< gradients in it; less than T when a batch ended early
};

/// Computes what is pushed:
///   gradient form   asgd, downpour, dynsgd: accumulated; agn, adag, sagn, sync: accumulated / T
///   delta form      downpour, dynsgd: local - pulled; agn, adag: (local - pulled) / T
///   easgd           e = alpha (local - pulled)
///   aeasgd, aeamsgd local
/// with `steps` for T. `out` may be the very span it is made of (`accumulated`, `local`); where
/// nothing is computed then nothing is copied.
void Contribution(const RuleSettings& rule, const WorkerWindow& window, std::span<float> out);

/// local <- answer, the center; easgd: local -= contribution, the worker's own e (the answer, the
/// new center, is what it pulled); aeasgd and aeamsgd: local -= answer, which is e.
void Adopt(const RuleSettings& rule, std::span<const float> answer,
           std::span<const float> contribution, std::span<float> local);

/// Hermans' sign that the elastic force undoes what a worker learns: ||eta g|| <= ||e||, where
/// e = alpha (x_i - x~) with alpha = eta rho. `elastic` is the last e that was adopted.
bool WastedLocalStep(double learning_rate, std::span<const float> gradient,
                     std::span<const float> elastic);

// ---- Shard ----

/// A contribution and what comes with it.
struct Push {
  std::span<const float> contribution;
  std::uint64_t staleness = 0;         ///< s
  std::span<const float> pulled = {};  ///< where NeedsPulledCopy: x~ at version v_i
  float learning_rate = 0.0f;          ///< gradient form
};

/// The factor by which the shard multiplies a contribution: dynsgd 1 / (s + 1), adag
/// 1 / (||x~ - pulled||^2 / adag_scale + 1), else 1.
float MergeScale(const RuleSettings& rule, const Push& push, std::span<const float> center);

/// Merges one contribution of a rule without a barrier; returns its MergeScale.
///   gradient form   center <- Opt(center, scale * contribution), and its LookAhead
///   delta form      center += scale * contribution (no optimizer: may be null)
///   aeasgd, aeamsgd elastic = alpha (contribution - center), center += elastic
/// The answer is the center, or `elastic`, which may be the span of the contribution itself and is
/// not touched in the other forms.
float Merge(const RuleSettings& rule, const Push& push, std::span<float> center,
            Optimizer* optimizer, std::span<float> elastic);

}  // namespace murmurate
