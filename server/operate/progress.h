// Progress: what one model's training has come to: the values of its metrics (model_metrics.h) and
// what they are made of: the windows of its last episodes, its curves.
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
#include "server/operate/evaluation.h"
#include "shared/model/state.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// What came of one training batch, as the learning thread hands it to mmr-operate.
struct TrainingUpdate {
  std::string model = "default";
  std::int64_t at_ns = 0;  ///< monotonic
  StepCount steps = {};    ///< with this batch, and when its learning began
  Measurements metrics = {};
  /// The learning thread's time so far: without a batch, and all of it.
  double waited_s = 0, lived_s = 0;
  double eval_rows = 0;   ///< of which eval/loss and eval/accuracy are means
  bool held_out = false;  ///< nothing was learned: only these two count
  std::vector<EpisodeRecord> episodes = {};
};

/// How fast a count rises: over about the last second.
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
  static constexpr std::size_t kWindow = 100;  ///< episodes

  explicit Progress(std::int64_t start_ns);

  void Take(const TrainingUpdate& update);
  /// By the learner itself: from then on only these count.
  void TakeEvaluation(const Evaluation& evaluation);
  /// Episodes that actors played in Mode(kEvaluate); others are left out. Where the learner does
  /// not evaluate, the mean of the last 100 is the evaluation.
  void TakeEvaluated(std::span<const EpisodeRecord> episodes);

  /// Counters, the window of episodes, the time so far and the curve, for a checkpoint.
  void Save(std::int64_t now_ns, const StateWriter& writer) const;
  /// Before the first Take: goes on from what was saved in the checkpoint of that `number`.
  Status Load(const StateReader& reader, std::uint64_t number);

  /// All of it, now: kMean and kMax metrics are the newest values.
  Reading Latest(std::int64_t now_ns) const;
  /// The same with the rate of the last second; what a screen shows as a number is 0 before the
  /// first.
  Reading Live(std::int64_t now_ns);
  /// For a row: kMean and kMax metrics are over what came since the last row, which ends here.
  Reading EndRow(std::int64_t now_ns);

  std::uint64_t steps() const { return steps_.taken; }
  std::uint64_t learned_steps() const { return steps_.learned; }
  std::uint64_t episodes() const { return episodes_; }
  std::int64_t last_ns() const { return last_ns_; }  ///< of the last update; 0: there was none
  /// As the last update left it; counters are sums over all of them.
  const Reading& values() const { return values_; }
  std::optional<double> mean_return() const;
  std::optional<double> mean_length() const;
  /// Of the last kWindow training episodes that say whether they succeeded; empty when none did.
  std::optional<double> success_rate() const { return SuccessRate(said_); }
  /// True when the mean is over kWindow episodes: only then may it end a run.
  bool window_full() const { return window_.size() == kWindow; }
  /// Steps learned from a second, over about the last second.
  double learned_per_second(std::int64_t now_ns);
  double elapsed_s(std::int64_t now_ns) const {
    return earlier_s_ + static_cast<double>(now_ns - start_ns_) * 1e-9;
  }
  const std::optional<Evaluation>& evaluation() const { return evaluation_; }
  const Curve& curve() const { return curve_; }
  const Curve& evaluation_curve() const { return evaluation_curve_; }

 private:
  /// Of a kMean or kMax metric, since the last row.
  struct Since {
    double sum = 0, weight = 0, most = 0;
  };
  void TakeScores(const TrainingUpdate& update);
  void TakeMetrics(const Measurements& metrics);
  void TakeEpisodes(std::span<const EpisodeRecord> episodes);

  const std::int64_t start_ns_;
  double earlier_s_ = 0;  ///< of the lives of the run before this one
  StepCount steps_;
  std::int64_t last_ns_ = 0;
  Reading values_;
  std::map<const Metric*, Since> since_row_;
  std::uint64_t episodes_ = 0;
  EpisodeList window_, said_, evaluated_;
  std::optional<Evaluation> evaluation_;
  bool evaluates_itself_ = false;
  Curve curve_, evaluation_curve_;
  double eval_rows_ = 0, eval_loss_sum_ = 0, eval_accuracy_sum_ = 0;
  bool scoring_ = false;  ///< the last update was held out: the next one adds to the same mean
  double waited_s_ = 0, lived_s_ = 0;  ///< by the last update
  Rate taken_rate_, learned_rate_;
};

/// "train/loss 0.031, eval/accuracy 0.98": what there is of ScoreMetrics.
std::string ScoresText(const Reading& reading);

}  // namespace murmurate
