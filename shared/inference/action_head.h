// ActionHead: the outputs of a policy's head made into an action of any space: what Act runs.
// (Learners: action_head_rows.h gives the same numbers for whole batches.)
//
// The distribution is a product over the parts of the action and over the variables of each part,
// so log-probabilities and entropies are sums:
//   discrete    softmax(logits) over the choices that the mask allows; others have probability 0
//   binary      1 with probability sigmoid(logit)
//   continuous  a Gaussian for each number: mean and log deviation, held within [-20, 2]. The
//               record keeps the sample u, and log-probabilities are densities of u. The game gets
//               u, of a scaled model middle + half_width u (ActionScale), clipped to [low, high];
//               or squashed: low + (tanh(u) + 1) / 2 (high - low). A squashed log-probability is
//               that of tanh(u) in (-1, 1): log N(u) - 2 (log 2 - u - softplus(-2 u)) (arXiv
//               1812.05905, appendix C; without the scale to [low, high], as SAC's target entropy
//               assumes). Of a deterministic model there is no distribution but noise, and the
//               record keeps the action itself (deterministic_numbers.h).
// A mask that forbids every choice of a variable is an error that ActionLayout::CheckMask names;
// here it counts as one that allows every choice.
#pragma once

#include <cstdint>
#include <span>

#include "shared/core/pink_noise.h"
#include "shared/core/random.h"
#include "shared/inference/policy.h"
#include "shared/model/act_settings.h"
#include "shared/model/action_layout.h"

namespace murmurate {

inline constexpr float kMinLogDeviation = -20.0f, kMaxLogDeviation = 2.0f;

/// Immutable: any number of threads may use one at once. Nothing allocates after construction.
class ActionHead {
 public:
  explicit ActionHead(ActionLayout layout);

  const ActionLayout& layout() const { return layout_; }

  /// Row is one row of outputs. `log_deviations`: the free ones, null when there are none. `mask`:
  /// null allows everything.
  struct Row {
    const float* outputs = nullptr;
    const float* log_deviations = nullptr;
    const std::uint8_t* mask = nullptr;
  };

  /// Writes layout().words() words and returns their log-probability under the distribution that
  /// they were drawn from; for one discrete variable exactly what ChooseAction does. For each
  /// variable by itself:
  ///   kSample   the distribution raised to 1 / temperature (a deviation times its root)
  ///   kGreedy   its mode (a continuous one: the mean); the log-probability is that of kSample
  ///             (of a deterministic model both are its action, with the log-probability 0)
  ///   kEpsilon  the mode, but any allowed choice with probability epsilon; no continuous parts
  ///   kGaussian the action of a deterministic model plus sigma times noise, clipped to its box
  ///   kUniform  any allowed choice; any number in [low, high], standard normal without bounds
  /// `settings` have passed CheckActSettings. `pink`, of layout().words() numbers: what the numbers
  /// of kSample and kGaussian are drawn with where the settings' noise is pink; may be null
  /// elsewhere. Log-probabilities are those of one step by itself, whatever the noise.
  float Choose(const Row& row, const ActSettings& settings, Random& random, std::int32_t* action,
               PinkNoise* pink = nullptr) const;
  /// Chooses as kUniform does, without outputs.
  float ChooseUniform(const std::uint8_t* mask, Random& random, std::int32_t* action) const;

  /// Returns the log probability of a recorded action under the distribution that Choose draws from
  /// (kGreedy: that of kSample), at least kForbiddenLogProbability. It is needed when the game took
  /// another action than Choose gave. kUniform reads no outputs.
  float LogProbability(const Row& row, const ActSettings& settings,
                       const std::int32_t* action) const;

  /// A log-density of the game's numbers, and this added, is one of what log-probabilities are
  /// densities of: the sum of the logs of the half widths of scaled and squashed numbers' boxes.
  double LogUnit() const;

  /// Converts an action for the game: choices and switches unchanged, numbers scaled and clipped,
  /// or squashed.
  void ToGame(const std::int32_t* action, std::int32_t* game) const;
  /// Records what the game did. A number at which ToGame puts `chosen` (words; may be null)
  /// keeps the sample there; another one, clipped to its bounds, is its own sample, or what scales
  /// or squashes to it. `action` may be `chosen`.
  void FromGame(const std::int32_t* game, const std::int32_t* chosen, std::int32_t* action) const;

 private:
  ActionLayout layout_;
};

/// Settings that a model's actions cannot follow: epsilon with continuous parts, kGaussian unless
/// the model is deterministic and all parts are continuous, a temperature that is not above 0 or
/// whose inverse is not finite, other numbers out of their range.
Status CheckActSettings(const ActionLayout& layout, const ActSettings& settings);

/// ChooseAction (policy.h) among the choices with a nonzero mask; null allows everything. Forbidden
/// choices are never drawn, under no setting, and nothing is drawn for them.
ActionChoice ChooseAllowed(std::span<const float> logits, const std::uint8_t* mask,
                           const ActSettings& settings, Random& random);
ActionChoice ChooseUniformAllowed(int action_count, const std::uint8_t* mask, Random& random);
/// Returns the log probability of `action` under the distribution of ChooseAllowed; kGreedy uses
/// log softmax(logits / temperature), as kSample does. kForbiddenLogProbability for an action that
/// is forbidden or never drawn. kUniform reads only the number of logits.
float LogProbabilityAllowed(std::span<const float> logits, const std::uint8_t* mask,
                            const ActSettings& settings, int action);

/// Stands for minus infinity, so that no arithmetic on it makes a NaN: exp of it is 0.
inline constexpr float kForbiddenLogProbability = -1e9f;

}  // namespace murmurate
