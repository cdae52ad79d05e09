// What a run of several learners says where more of them cannot pay.
//
// Of n learners, each of which computes for g seconds and waits for w between two exchanges, n
// gradients take g + w; of one alone they take n g. So more learners pay where w < (n - 1) g. They
// also pay where games keep them waiting, however long an exchange takes.
#pragma once

#include <cstdint>
#include <string>

#include "server/learn/learn_report.h"
#include "server/parameters/rule_settings.h"

namespace murmurate {

/// "": they have a processor each.
std::string AdviceOnProcessors(int learners, int processors);

/// Under rules that average the learners' gradients: what to do about the larger batch; "" else.
std::string AdviceOnBatches(RuleName rule, int learners);

/// Speaks at most once. One thread.
class ExchangeAdvice {
 public:
  /// Exchanges that are looked at, after those of the first batch, which waits for the others to
  /// come.
  static constexpr std::uint64_t kExchanges = 100;

  explicit ExchangeAdvice(int learners) : learners_(learners) {}

  /// Called after each batch. `waited_s`: for experience, since the model was made. A sentence when
  /// exchanges are why several learners are no faster than one; "" else.
  std::string Learned(const LearnReport& report, double waited_s);

 private:
  const int learners_;
  bool began_ = false, done_ = false;
  double waited_at_begin_s_ = 0.0;  ///< for experience
  double computed_s_ = 0.0, exchanged_s_ = 0.0;
  std::uint64_t exchanges_ = 0;
};

}  // namespace murmurate
