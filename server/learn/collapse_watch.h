// CollapseWatch: tells when a model that learns from its own play has lost what it had learned. It
// is fed with what came of each batch, knows no clock, and does nothing about it.
//
// Training episodes are counted in windows: kEpisodes or more, up to the end of a batch. The range
// of a model reaches from the mean return of its first window to the best mean of any; it counts
// once it is wider than the standard deviation of the returns in either window. Signs are
//
//   fallen      the means of kLow windows in a row lie more than 70 % of the range below the best
//               one, and those of the later half are on average no higher than those of the earlier
//               half by more than 5 % of it. It takes that long because runs recover:
//               cartpole-impala may be that low for 25 windows and is solved all the same.
//   frozen      of a policy of choices: in kInARow windows in a row its entropy is below 2 % of the
//               most possible, and the mean return is more than half of the range below the best
//               one; or, while no range counts, below the first by 3 standard errors
//   torn        kInARow batches in a row changed the policy by an approx_kl above 1
//   not finite  the losses or all gradients of kInARow batches in a row were not
//
// What is seen is said once, and again only after no sign was left. A run whose games become harder
// in steps that the learner does not know of may look as if it had fallen.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "server/learn/learn_report.h"
#include "shared/model/action_layout.h"
#include "shared/model/state.h"

namespace murmurate {

/// The entropy of a policy that makes all choices and sets all switches as by dice; 0 with a
/// continuous part, whose entropy says nothing of that.
double MostEntropy(const ActionLayout& action);

class CollapseWatch {
 public:
  static constexpr std::size_t kEpisodes = 100;
  static constexpr int kInARow = 5, kLow = 50;

  /// `most_entropy`: of the policy (MostEntropy).
  explicit CollapseWatch(double most_entropy) : most_entropy_(most_entropy) {}

  struct News {
    bool window = false;   ///< the batch ended a window,
    bool best = false;     ///< whose mean is the best so far
    std::string collapse;  ///< what was seen, in words; "": nothing is to be said
  };
  News Add(const LearnReport& report);

  /// The model gave up `version` for earlier parameters: the signs begin anew, and nothing counts
  /// until all of a batch was played under later versions. The range stays.
  void OnReturn(std::uint64_t version);
  /// Begins anew: returns from here on cannot be compared with those before.
  void Forget();

  /// A window that is not full is not saved.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

 private:
  struct Window {
    double episodes = 0, sum = 0, squares = 0, entropy = 0, batches = 0;
    double mean() const { return sum / episodes; }
    double variance() const;
  };
  struct Returns {
    double episodes = 0, mean = 0, variance = 0;
  };
  enum Sign : std::size_t { kFrozen, kTorn, kNotFinite, kSigns };

  void CountFallen(double mean, double range);
  void Count(Sign sign, bool seen) { in_a_row_[sign] = seen ? in_a_row_[sign] + 1 : 0; }
  void ForgetSigns();
  void CountBatch(const LearnReport& report);
  void EndWindow(News* news);
  bool Frozen(const Returns& returns, double entropy, bool range_counts) const;
  std::string Words(const LearnReport& report);

  const double most_entropy_;
  Window window_;
  std::uint64_t windows_ = 0;  ///< that have ended
  Returns first_, best_;
  double last_mean_ = 0, last_entropy_ = 0;
  std::array<std::uint64_t, kSigns> in_a_row_{};
  std::vector<double> low_;  ///< the last means in a row far below the best, kLow at most
  bool fallen_ = false;
  bool said_ = false;
  std::uint64_t returned_at_ = 0;  ///< a version that was given up and is still learned from
};

}  // namespace murmurate
