// EvaluatedPlay: what the episodes come to that actors play to be evaluated (evaluation.share), or
// in Mode(kEvaluate): the evaluations of a model that plays in games from outside only.
//
// Episodes end in eras. An era is over when kLeastEpisodes of it have ended and it has lasted
// kLeastNs; its evaluation is the mean over all of them. The versions that they were played under
// follow each other, so the evaluation is filed under the weights that were the newest as the
// middle one of the first kLeastEpisodes ended. An episode counts where it ends, as in the means of
// training: to count it where it began would favour the short ones.
//
// Chance makes the best of many means too good. So an era's weights are offered as the best ones
// only if its mean is above the best so far, under the same settings of the games, by more than the
// standard error of the mean, s / sqrt(n), s^2 the sample variance.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "server/experience/step_count.h"
#include "server/operate/checkpoint.h"
#include "server/operate/evaluation.h"
#include "shared/weights/weights.h"

namespace murmurate {

class EvaluatedPlay {
 public:
  static constexpr std::size_t kLeastEpisodes = 20;
  static constexpr std::int64_t kLeastNs = 2'000'000'000;
  /// Of an era of more episodes, the last ones count.
  static constexpr std::size_t kMostEpisodes = 10'000;

  struct Result {
    Evaluation evaluation;
    std::shared_ptr<const Snapshot> snapshot;  ///< the weights that it is filed under
    std::map<std::string, double> settings;    ///< of the games, as the era ended
    bool best = false;                         ///< offered as the best so far
  };
  using OnResult = std::function<void(Result)>;
  using Settings = std::function<std::map<std::string, double>()>;

  /// `settings`: of the games, as they are; called, like `on_result`, on the thread of Add.
  EvaluatedPlay(Settings settings, OnResult on_result)
      : settings_(std::move(settings)), on_result_(std::move(on_result)) {}

  /// The learning thread, with every version.
  void OnSnapshot(std::shared_ptr<const Snapshot> snapshot, const StepCount& steps);
  /// Adds the episodes that were evaluated; the others are left out. One thread.
  void Add(std::span<const EpisodeRecord> episodes, std::int64_t now_ns);

 private:
  struct Weights {
    std::shared_ptr<const Snapshot> snapshot;
    StepCount steps;
  };
  Weights newest() const;
  void EndEra();
  bool Beaten(const Result& result) const;

  const Settings settings_;
  const OnResult on_result_;
  mutable std::mutex mutex_;
  Weights newest_;  ///< under the lock

  // Of the thread of Add.
  EpisodeList era_;
  std::int64_t since_ns_ = 0;            ///< the era's first episode
  Weights middle_;                       ///< of the era
  std::optional<EvaluatedReturn> best_;  ///< the best one that was offered
};

}  // namespace murmurate
