// RateByKl: a learning rate that follows how far each batch moves the policy, instead of being
// guessed for each game.
//
// After a batch whose approx_kl is below half of the one wanted, but above 0, the rate is multiplied
// by 1.5, after one above twice that divided by 1.5 (the rule of RSL-RL and rl_games; Schulman and
// others 2017, section 4, do the same to a penalty), after one above ten times that by
// sqrt(approx_kl / wanted): the KL grows with the square of the rate. It is a factor on the
// scheduled rate, between 1/30 and 10/3: a policy that has become certain moves little at any rate,
// and one that had grown without such a limit would destroy it at the first surprise.

#pragma once

#include "shared/model/state.h"

namespace murmurate {

class RateByKl {
 public:
  /// `wanted`: approx_kl; 0: the factor stays 1.
  explicit RateByKl(double wanted) : wanted_(wanted) {}

  double factor() const { return factor_; }
  /// A batch was learned from; `approx_kl` is that of LearnReport.
  void Learned(double approx_kl);
  /// The rate was set while it runs: it stays what it was set to.
  void Stop() { *this = RateByKl(0.0); }

  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

 private:
  double wanted_;
  double factor_ = 1.0;
};

}  // namespace murmurate
