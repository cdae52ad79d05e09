// RuleSettings: which update rule joins many workers in one model, with its numbers. update_rule.h,
// merge_round.h and hogwild.h have the arithmetic.
//
// Notation, as in the papers: x~ the center (a shard's parameters), x_i the copy of worker i, g_i
// its gradient, eta the learning rate, T the window (gradients from one exchange to the next), n
// the workers, k the merges of a shard so far, s = k - v_i the staleness of a worker that pulled
// version v_i. Opt(x~, g) is a step of the shard's optimizer.
//
//   hogwild   Recht, Re, Wright, Niu, NIPS 2011 (arXiv 1106.5730). Threads of one process and no
//             exchange: x_v <- x_v - eta [g(x^)]_v for each component v, x^ read while others
//             write.
//   asgd      Downpour with T = 1 and no Adagrad; what mpiT (Zhang et al.) calls asyncsgd:
//             x~ <- Opt(x~, g_i), x_i <- x~.
//   downpour  Dean et al., NIPS 2012. T local steps x_i <- x_i - eta g_i. Gradient form (the
//             paper's, with Adagrad on the shard): x~ <- Opt(x~, sum_t g_i). Delta form
//             (dist-keras): x~ <- x~ + (x_i - pulled). Then x_i <- x~.
//   agn       Hermans, Spanakis, Moeckel, ACML 2017 (arXiv 1710.02368). T local steps;
//             x~ <- x~ - (1/T) sum_t eta_t g_i(x_i^t), which the delta form takes from
//             (x_i - pulled)/T; gradient form (tmulc18): x~ <- Opt(x~, (1/T) sum_t g_i).
//             Then x_i <- x~.
//   adag      Hermans' master thesis, chapter ADAG: an AGN contribution, scaled by how far the
//             center moved since the pull: 1 / (||x~ - x~_(v_i)||^2 / adag_scale + 1). The norm is
//             over the shard's own range; dist-keras has it for each component instead.
//   dynsgd    Staleness-aware: Downpour's contribution / (s + 1), as Hermans' thesis and dist-keras
//             have it. Jiang, Cui, Zhang, Yu (SIGMOD 2017) besides revise merges already made,
//             which this does not.
//   sync      Chen, Pan, Monga, Bengio, Jozefowicz 2016 (arXiv 1604.00981). A barrier:
//             x~ <- Opt(x~, (1/N) sum of the first N mean gradients g_i(x~)), all x_i <- x~; later
//             ones are dropped. T > 1: the mean of T gradients, all taken at x~.
//   sagn      No paper; tmulc18/SAGN: sync with (1/T) sum_t g_i(x_i^t), local steps in between.
//   easgd     Zhang, Choromanska, LeCun, NIPS 2015 (arXiv 1412.6651), synchronous:
//             e_i = alpha (x_i - x~), x_i <- x_i - e_i, x~ <- x~ + sum_i e_i.
//   aeasgd    The same paper, Algorithm 1: every T steps e = alpha (x_i - x~), x_i <- x_i - e,
//             x~ <- x~ + e, of one x~: the shard makes e, so that x_i + x~ is conserved.
//   aeamsgd   The same paper, Algorithm 2: aeasgd whose worker steps with Nesterov's momentum
//             (optimizers.h); the exchange acts on x_i, not on the look-ahead.
//
// Pure values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "murmurate/status.h"
#include "shared/core/enum_names.h"

namespace murmurate {

enum class RuleName : std::uint8_t {
  kHogwild,
  kAsgd,
  kDownpour,
  kAgn,
  kAdag,
  kDynSgd,
  kSync,
  kSagn,
  kEasgd,
  kAeasgd,
  kAeamsgd
};

inline constexpr EnumName<RuleName> kRuleNames[] = {
    {RuleName::kAsgd, "asgd"},      {RuleName::kDownpour, "downpour"},
    {RuleName::kAgn, "agn"},        {RuleName::kAdag, "adag"},
    {RuleName::kDynSgd, "dynsgd"},  {RuleName::kSync, "sync"},
    {RuleName::kSagn, "sagn"},      {RuleName::kEasgd, "easgd"},
    {RuleName::kAeasgd, "aeasgd"},  {RuleName::kAeamsgd, "aeamsgd"},
    {RuleName::kHogwild, "hogwild"}};
constexpr std::span<const EnumName<RuleName>> NamesOf(RuleName) { return kRuleNames; }

/// PushForm is what a worker pushes: gradients, how far its copy went, or (easgd, aeasgd, aeamsgd)
/// its copy or the elastic difference.
enum class PushForm : std::uint8_t { kGradient, kDelta, kElastic };

/// The third is never chosen.
inline constexpr EnumName<PushForm> kPushFormNames[] = {{PushForm::kGradient, "gradient"},
                                                        {PushForm::kDelta, "delta"},
                                                        {PushForm::kElastic, "elastic"}};
constexpr std::span<const EnumName<PushForm>> NamesOf(PushForm) { return kPushFormNames; }

/// beta = n alpha of the EASGD authors' demo (mpiT): alpha = 0.9 / n.
inline constexpr double kMovingRate = 0.9;

struct RuleSettings {
  RuleName name = RuleName::kAsgd;
  PushForm form = PushForm::kGradient;
  int window = 1;                ///< T
  double elastic = kMovingRate;  ///< alpha of easgd, aeasgd, aeamsgd
  double adag_scale = 1.0;       ///< adag's eta; 1 is dist-keras' default
};

/// A window that ends with the batch.
inline constexpr int kWholeBatch = 1 << 30;

/// A rule as its source has it, for `workers` >= 1: form, window (agn 12, dynsgd 5, aeasgd and
/// aeamsgd 32: dist-keras; adag 12: agn's; sagn 5: tmulc18; else 1) and alpha = 0.9 / workers.
RuleSettings DefaultRule(RuleName name, int workers);

/// The same where a batch is learned from in many updates (ppo), so that none of them is lost:
///   asgd, sync, easgd    an exchange after every update
///   agn, adag, sagn      after 4: what they push is a mean, so that a window of T updates moves
///                        the center by 1/T of them
///   downpour, dynsgd     after the batch, in delta form. A push of summed gradients is one step of
///                        the shard's optimizer, however many they are, and Adam's step does not
///                        grow with the sum; so with `form` kGradient the window is DefaultRule's.
///   aeasgd, aeamsgd      after the batch
/// `form`: what a config asks for.
RuleSettings DefaultRuleOfManyUpdates(RuleName name, int workers,
                                      std::optional<PushForm> form = {});

/// One sentence for a form that the rule does not have, or a number out of its range.
Status CheckRule(const RuleSettings& rule);

/// downpour, agn, adag, dynsgd: gradient or delta; asgd, hogwild, sync, sagn: gradient; the elastic
/// rules: elastic.
bool HasForm(RuleName name, PushForm form);

/// Whether merges wait for one another, in rounds (merge_round.h).
constexpr bool IsSynchronous(RuleName name) {
  return name == RuleName::kSync || name == RuleName::kSagn || name == RuleName::kEasgd;
}

/// Whether threads share the parameters, without shard or push (hogwild.h).
constexpr bool SharesMemory(RuleName name) { return name == RuleName::kHogwild; }

constexpr bool PushesGradient(const RuleSettings& rule) { return rule.form == PushForm::kGradient; }

/// Whether the answer to a push is e (aeasgd, aeamsgd), not the center.
constexpr bool AnswerIsElastic(RuleName name) {
  return name == RuleName::kAeasgd || name == RuleName::kAeamsgd;
}

/// Whether each push counts by a weight of its own (update_rule.h, MergeScale).
constexpr bool WeighsPushes(RuleName name) {
  return name == RuleName::kDynSgd || name == RuleName::kAdag;
}

/// Whether the shard keeps, for each worker, the center as that worker pulled it.
constexpr bool NeedsPulledCopy(RuleName name) { return name == RuleName::kAdag; }

/// Whether the worker keeps the center as it pulled it: a delta, or easgd's e, is taken from there.
constexpr bool WorkerKeepsPulled(const RuleSettings& rule) {
  return rule.form == PushForm::kDelta || rule.name == RuleName::kEasgd;
}

/// Whether the worker steps its own copy after each gradient. Not where the push is all that moves
/// it: one gradient for each exchange, or sync, whose gradients are all taken at the center.
constexpr bool StepsLocally(const RuleSettings& rule) {
  if (rule.name == RuleName::kSync) return false;
  return rule.form != PushForm::kGradient || rule.window > 1;
}

}  // namespace murmurate
