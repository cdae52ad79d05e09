// RateByKl: a learning rate that follows how far each batch moves the policy, instead of being
// guessed for each game.
//
// After a batch whose approx_kl is above twice the one wanted the rate is divided by 1.5, after one
// below half of it but above 0 multiplied by 1.5 (the rule of RSL-RL and rl_games; Schulman and
// others 2017, section 4, do the same to a penalty). It is a factor on the scheduled rate, between
// 1/30 and 30.
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
