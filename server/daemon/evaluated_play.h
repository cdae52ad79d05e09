// EvaluatedPlay: what the episodes come to that actors play to be evaluated (evaluation.share), or
// in Mode(kEvaluate): the evaluations of a model that plays in games from outside only.
//
// Episodes end in eras. An era is over when it has kLeastEpisodes and kLeastNs have passed since the
// one before. One that reaches kMostEpisodes sooner is dropped and begun again: a fast game ends
// thousands of episodes in that time, under weights that may have nothing in common. The evaluation
// is the mean over the era's episodes. They were played under versions that follow each other, so
// it is filed under the weights that were the newest in the middle of the era: as the last of its
// episodes ended whose number is kLeastEpisodes / 2 times a power of 2 and at most half of them. An
// episode counts where it ends, as in the means of training: to count it where it began would
// favour the short ones.
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
  static constexpr std::size_t kMostEpisodes = 100;

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
  void Mark();
  void BeginEra();
  void EndEra();
  bool Beaten(const Result& result) const;

  const Settings settings_;
  const OnResult on_result_;
  mutable std::mutex mutex_;
  Weights newest_;  ///< under the lock

  // Of the thread of Add.
  EpisodeList era_;
  std::optional<std::int64_t> since_ns_;  ///< the end of the first episode since the last result
  Weights middle_;                        ///< of the era, as far as it has come
  Weights next_middle_;                   ///< of an era of twice as many episodes
  std::optional<EvaluatedReturn> best_;   ///< the best one that was offered
};

}  // namespace murmurate
