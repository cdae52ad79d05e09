// LossForm: the loss that an algorithm's gradients belong to, for code outside the algorithm that
// computes them (a device).
#pragma once

#include <cstdint>

namespace murmurate {

struct LossForm {
  enum class Kind : std::uint8_t {
    kClippedRatio,    ///< ClippedPolicyLoss (server/network/policy_loss.h)
    kPolicyGradient,  ///< PolicyGradientLoss
    kSquaredError,    ///< LabelLoss::Numbers::kSquaredError (server/network/label_loss.h)
    kLikelihood,      ///< LabelLoss::Numbers::kLikelihood
    kChoiceValues,    ///< dqn.cc's
    kSoftNumbers,     ///< sac.cc's of numbers
  } kind = Kind::kClippedRatio;
  bool weighs_advantage = false;  ///< by min(rho_pg_bar, pi/mu)

  /// Of a policy and its value, with returns.
  bool of_policy() const { return kind == Kind::kClippedRatio || kind == Kind::kPolicyGradient; }
  /// Of steps from a replay. What is neither is of labels.
  bool of_replay() const { return kind == Kind::kChoiceValues || kind == Kind::kSoftNumbers; }
};

}  // namespace murmurate
