// Progress: what one model's training has come to: the values of its metrics (model_metrics.h) and
// what they are made of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"
#include "server/experience/step_count.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/reading.h"
#include "server/operate/curve.h"
#include "server/operate/episode_means.h"
#include "server/operate/evaluations.h"
#include "server/operate/recent_rate.h"
#include "server/operate/score_means.h"
#include "shared/model/state.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// A TrainingUpdate holds the results of one training batch, as the learning thread hands them to
/// mmr-operate.
struct TrainingUpdate {
  std::string model = "default";
  std::int64_t at_ns = 0;  ///< monotonic
  StepCount steps = {};    ///< with this batch, and when its learning began
  Measurements metrics = {};
  /// The learning thread's time so far: without a batch, and all of it.
  double waited_s = 0, lived_s = 0;
  double eval_rows = 0;   ///< of which eval/loss and eval/accuracy are means
  bool held_out = false;  ///< nothing was learned: only these two count
  bool finite = true;     ///< its losses and gradients were finite numbers
  std::vector<EpisodeRecord> episodes = {};
};

/// Rate is how fast a count rises, over about the last second.
class Rate {
 public:
  explicit Rate(std::int64_t start_ns) : start_ns_(start_ns), since_ns_(start_ns) {}
  void BeginAt(std::uint64_t count) { count_ = count; }
  double PerSecond(std::uint64_t count, std::int64_t now_ns);

 private:
  const std::int64_t start_ns_;
  std::int64_t since_ns_;
  std::uint64_t count_ = 0;
  double rate_ = 0;
};

/// One model's progress. One thread.
class Progress {
 public:
  explicit Progress(std::int64_t start_ns);

  void Apply(const TrainingUpdate& update);
  /// Applies an evaluation of weights.
  void ApplyEvaluation(const Evaluation& evaluation) { evaluations_.Apply(evaluation); }
  /// Adds episodes that actors played in Mode(kEvaluate).
  void AddEvaluated(std::span<const EpisodeRecord> episodes) { evaluations_.Add(episodes, steps_); }

  /// Counters, the window of episodes, the time so far and the curve, for a checkpoint.
  void Save(std::int64_t now_ns, const StateWriter& writer) const;
  /// Goes on, before the first Apply, from what the checkpoint of that `number` saved.
  Status Load(const StateReader& reader, std::uint64_t number);

  /// The reading of now: kMean and kMax metrics are the newest values.
  Reading Latest(std::int64_t now_ns) const;
  /// The same with the rate of the last second; what a screen shows as a number is 0 before the
  /// first.
  Reading Live(std::int64_t now_ns);
  /// Ends a row: kMean and kMax metrics are over what came since the last one.
  Reading EndRow(std::int64_t now_ns);

  std::uint64_t steps() const { return steps_.taken; }
  std::uint64_t learned_steps() const { return steps_.learned; }
  std::int64_t last_ns() const { return last_ns_; }  ///< of the last update; 0: there was none
  /// The values as the last update left them; counters are sums over all updates.
  const Reading& values() const { return values_; }
  const EpisodeMeans& means() const { return means_; }
  /// Steps learned from a second, over the last half minute.
  double learned_per_second(std::int64_t now_ns);
  double elapsed_s(std::int64_t now_ns) const {
    return earlier_s_ + static_cast<double>(now_ns - start_ns_) * 1e-9;
  }
  const std::optional<Evaluation>& evaluation() const { return evaluations_.newest(); }
  const Curve& curve() const { return curve_; }
  const Curve& evaluation_curve() const { return evaluations_.curve(); }

 private:
  /// Since sums a kMean or kMax metric since the last row.
  struct Since {
    double sum = 0, weight = 0, most = 0;
  };
  void AddDataWait(const TrainingUpdate& update);
  void AddMetrics(const Measurements& metrics);

  const std::int64_t start_ns_;
  double earlier_s_ = 0;  ///< of the lives of the run before this one
  StepCount steps_;
  std::int64_t last_ns_ = 0;
  Reading values_;
  std::map<const Metric*, Since> since_row_;
  EpisodeMeans means_;
  Curve curve_;  ///< of the mean return
  Evaluations evaluations_;
  ScoreMeans scores_;
  double waited_s_ = 0, lived_s_ = 0;  ///< by the last update
  Histogram batch_waits_;
  Rate taken_rate_;
  RecentRate learned_rate_;
};

/// "train/loss 0.031, eval/accuracy 0.98": what there is of ScoreMetrics.
std::string ScoresText(const Reading& reading);

}  // namespace murmurate
