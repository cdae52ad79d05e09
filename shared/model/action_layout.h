// ActionLayout: how one action is recorded, and which outputs of a policy's head choose it. The
// client, the wire, the batch and the losses read the same layout.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "murmurate/spaces.h"
#include "murmurate/status.h"

namespace murmurate {

/// How a model makes continuous actions: part of its spec, without meaning for other actions.
struct ContinuousSettings {
  /// The head has a log standard deviation for each number beside its mean; otherwise they are
  /// parameters of their own, the same in every state.
  bool state_dependent_deviation = false;
  /// The game gets tanh(sample) scaled to [low, high] instead of the sample clipped to it: every
  /// continuous part needs bounds.
  bool squashed = false;
  /// The policy's middle is the middle of each number's box [low, high], and its unit half of the
  /// box's width (ActionScale). For spaces of which ScalesActions is true, and not for squashed
  /// models, which fill their boxes in any case.
  bool scaled = false;
  /// The policy gives an action and no distribution: the head has one number for each of the
  /// action's and no deviation. What is recorded is the action that was played, noise and all
  /// (ActSettings::kGaussian), in units of its box: -1 at low, 1 at high. It is the output, or tanh
  /// of it where `squashed`, plus noise, clipped to -1 .. 1; the game gets it scaled to [low, high]
  /// and nothing else. Every continuous part needs bounds; neither `scaled` nor
  /// state_dependent_deviation go with it. Learners: |output| may exceed 1 without `squashed`.
  bool deterministic = false;
  friend bool operator==(const ContinuousSettings&, const ContinuousSettings&) = default;
};

/// The game's number is middle + half_width * sample. The product of two floats is exact in double,
/// so the result is the same on every processor.
struct ActionScale {
  double middle = 0.0;
  float half_width = 1.0f;
  double ToGame(float sample) const { return middle + double{half_width} * sample; }
  float ToSample(double number) const { return static_cast<float>((number - middle) / half_width); }
  friend bool operator==(const ActionScale&, const ActionScale&) = default;
};

/// Boxes that are wider are left as they are: their bounds say "any number", not where it lies.
inline constexpr double kWidestScaledBox = 1e6;
/// Middle and half of the width; 0 and 1 of a box wider than kWidestScaledBox, or so narrow that a
/// float does not hold half of it.
ActionScale ScaleOf(float low, float high);
/// The same for a box of any width: a deterministic policy fills its box.
ActionScale BoxScaleOf(float low, float high);
/// Whether some number has bounds for which ScaleOf is not 0 and 1.
bool ScalesActions(const Space& action);

/// One leaf of the action space.
struct ActionPart {
  enum class Kind : std::uint8_t { kDiscrete, kBinary, kContinuous };
  std::string name;  ///< empty when the space is no kDict
  Kind kind = Kind::kDiscrete;
  std::vector<int> shape;        ///< kContinuous, as the game stated it
  std::vector<int> choices;      ///< kDiscrete: of each variable
  int count = 0;                 ///< variables: words of the recorded action
  std::vector<float> low, high;  ///< kContinuous: both empty, or one for each number
  /// kContinuous: empty when samples are in the game's units, else one for each number.
  std::vector<ActionScale> scales;
  float furthest = std::numeric_limits<float>::max();  ///< kContinuous: of a recorded number from 0
  int first_word = 0;
  int first_output = 0;  ///< kContinuous: the means; its log deviations, if any, follow them
  int outputs = 0;
  int first_mask_byte = 0;   ///< kDiscrete
  int first_deviation = -1;  ///< kContinuous, of the free ones; -1: the head gives them
};

/// A recorded action is words() words of 4 bytes: int32 for choices and switches, float32 (its
/// bits) for numbers, where it is the sample before scaling, clipping or squashing, or of a
/// deterministic model the action in units of its box. Code that holds one uses std::int32_t and std::bit_cast.
///
/// A mask is mask_bytes() bytes, one for each choice of each discrete variable, in order: nonzero
/// means allowed. Switches and numbers have none.
class ActionLayout {
 public:
  /// `action` has passed CheckSpaces, and both have passed CheckContinuous.
  explicit ActionLayout(const Space& action, const ContinuousSettings& settings = {});

  const std::vector<ActionPart>& parts() const { return parts_; }  ///< in the space's order
  const ContinuousSettings& settings() const { return settings_; }
  /// A recorded number u is tanh(u) for the game, up to the box.
  bool squashes_samples() const { return settings_.squashed && !settings_.deterministic; }
  int words() const { return words_; }
  /// Width of the policy's head: a logit for each choice, one for each switch, a mean for each
  /// number (and a log deviation, when they depend on the state); of a deterministic model its
  /// action in place of the mean.
  int outputs() const { return outputs_; }
  int mask_bytes() const { return mask_bytes_; }
  /// Numbers of an action as a network reads it: a number each, switches too, choices one-hot.
  int encoded_count() const;
  int free_deviations() const { return free_deviations_; }  ///< log deviations in the parameters

  /// Checks a recorded action from outside: choices that exist (and that `mask`, unless null,
  /// allows), switches of 0 or 1, finite numbers (of a deterministic model -1 to 1).
  Status CheckAction(const std::int32_t* words, const std::uint8_t* mask = nullptr) const;
  /// A mask leaves every variable a choice; what is wrong with one that does not.
  bool AllowsSomething(const std::uint8_t* mask) const;
  Status CheckMask(const std::uint8_t* mask) const;
  bool has_numbers() const;  ///< some part is continuous
  /// Whether an action is one choice.
  bool one_choice() const { return words_ == 1 && parts_[0].kind == ActionPart::Kind::kDiscrete; }

 private:
  std::vector<ActionPart> parts_;
  ContinuousSettings settings_;
  int words_ = 0, outputs_ = 0, mask_bytes_ = 0, free_deviations_ = 0;
};

/// Checks: squashing and deterministic policies need bounds on every number; scaling a box to
/// scale, and no squashing; a deterministic policy has no deviations.
Status CheckContinuous(const Space& action, const ContinuousSettings& settings);

}  // namespace murmurate
