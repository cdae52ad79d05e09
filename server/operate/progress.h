// Progress: what one model's training has come to, and the file that says so row by row.
//
// Two numbers are never mixed: rollout/ep_rew_mean is the mean raw return of the last 100 finished
// training episodes, exploration on, and empty before the first; eval/mean_reward belongs to frozen
// weights (evaluation.h) and is empty until somebody evaluates: the learner itself where it has the
// game, else actors in Mode(kEvaluate), of whose episodes it is the mean of the last 100. x is
// environment steps taken by actors. Of these perf/dropped_steps were never sent, perf/late_steps
// came and were too old to be learned from (max_staleness, or the batch of their version closed),
// and train/trained_steps were learned from. time/learned_steps is where schedules, budgets and
// checkpoints are: the trained steps, but of files and streams their rows, and a run that an
// earlier version saved counts on from its checkpoint's number.
#pragma once

#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/operate/evaluation.h"
#include "shared/model/state.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// What came of one training batch, as the learning thread hands it to mmr-operate.
struct TrainingUpdate {
  std::string model = "default";
  std::int64_t at_ns = 0;  ///< monotonic
  std::uint64_t environment_steps = 0, dropped_steps = 0;
  std::uint64_t learned_steps = 0;               ///< StepCount::learned, with this batch
  std::uint64_t trained_steps = 0, updates = 0;  ///< of this batch
  std::uint64_t late_steps = 0;  ///< too late to be learned from, since the last update
  std::uint64_t version = 0;
  double policy_loss = 0, value_loss = 0, entropy = 0, clip_fraction = 0;
  double approx_kl = 0, lag_kl = 0;  ///< as LearnReport has them
  double explained_variance = 0, grad_norm = 0, learning_rate = 0, clip_range = 0;
  double staleness_mean = 0, staleness_max = 0;  ///< versions
  /// So far, of 1: the learning thread waited for a batch, ingest for a free one, the agents inside
  /// Act for credit or weights.
  double learner_wait = 0, ingest_wait = 0;
  std::optional<double> actor_wait = {};  ///< no actor has said yet
  // Of supervised and bc, as LearnReport has them; NaN: nothing to take a mean of.
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double loss = kNone, accuracy = kNone, error = kNone;
  double eval_rows = 0, eval_loss = kNone, eval_accuracy = kNone;
  bool held_out = false;
  double waited_s = 0, lived_s = 0;  ///< of the learning thread so far, of which learner_wait is
  /// Of a learner that shares its parameters, over the exchanges of the batch; NaN: it had none.
  double exchange_staleness = kNone, exchange_staleness_max = kNone, exchange_distance = kNone;
  double exchange_wait_s = kNone, exchange_late = kNone, exchange_wasted = kNone;
  std::vector<EpisodeRecord> episodes;
};

/// A point of the learning curve.
struct CurvePoint {
  std::uint64_t steps = 0;
  double mean_return = 0;
};

/// Points in the order of their steps, thinned when there are too many.
class Curve {
 public:
  void Add(const CurvePoint& point);
  const std::vector<CurvePoint>& points() const { return points_; }

 private:
  std::vector<CurvePoint> points_;
  std::uint64_t stride_ = 1;  ///< least steps between two points
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

  explicit Progress(std::int64_t start_ns)
      : start_ns_(start_ns), taken_rate_(start_ns), learned_rate_(start_ns) {}

  void Take(const TrainingUpdate& update);
  /// By the learner itself: from then on only these count.
  void TakeEvaluation(const Evaluation& evaluation);
  /// Episodes that actors played in Mode(kEvaluate); others are left out.
  void TakeEvaluated(std::span<const EpisodeRecord> episodes);

  /// Counters, the window of episodes, the time so far and the curve, for a checkpoint.
  void Save(std::int64_t now_ns, const StateWriter& writer) const;
  /// Before the first Take: goes on from what was saved in the checkpoint of that `number`.
  Status Load(const StateReader& reader, std::uint64_t number);

  std::uint64_t steps() const { return last_.environment_steps; }
  std::uint64_t learned_steps() const { return last_.learned_steps; }
  std::uint64_t episodes() const { return episodes_; }
  /// The last update, but trained_steps, updates and late_steps are sums over all of them.
  const TrainingUpdate& last() const { return last_; }
  std::optional<double> mean_return() const;
  std::optional<double> mean_length() const;
  /// Of the last kWindow training episodes that say whether they succeeded; empty when none did.
  std::optional<double> success_rate() const { return SuccessRate(said_); }
  /// True when the mean is over kWindow episodes: only then may it end a run.
  bool window_full() const { return window_.size() == kWindow; }
  /// Environment steps a second over about the last second, and those learned from.
  double steps_per_second(std::int64_t now_ns);
  double learned_per_second(std::int64_t now_ns);
  double elapsed_s(std::int64_t now_ns) const {
    return earlier_s_ + static_cast<double>(now_ns - start_ns_) * 1e-9;
  }
  const std::optional<Evaluation>& evaluation() const { return evaluation_; }
  const Curve& curve() const { return curve_; }
  const Curve& evaluation_curve() const { return evaluation_curve_; }
  /// Staleness of the batches since the last call; empty when there were none.
  struct Lag {
    std::optional<double> mean, max;
  };
  Lag TakeLag();
  /// Means over the held-out rows after the last pass, or the last batch that actors sent.
  double eval_loss() const;
  double eval_accuracy() const;
  /// Of the last batch, and of what is held out: ("train/loss", 0.031), what there is of it. Empty
  /// for what learns from rewards.
  std::vector<std::pair<std::string, double>> ScoreList() const;
  /// "train/loss 0.031, eval/accuracy 0.98"
  std::string Scores() const;
  /// The learning thread's time without a batch since the last call, as a share of all; NaN when it
  /// had none.
  double TakeWait();

 private:
  const std::int64_t start_ns_;
  double earlier_s_ = 0;  ///< of the lives of the run before this one
  TrainingUpdate last_;
  std::uint64_t episodes_ = 0;
  EpisodeList window_, said_, evaluated_;
  std::optional<Evaluation> evaluation_;
  bool evaluates_itself_ = false;
  Curve curve_, evaluation_curve_;
  double lag_sum_ = 0, lag_max_ = 0;
  int lag_count_ = 0;
  double eval_rows_ = 0, eval_loss_sum_ = 0, eval_accuracy_sum_ = 0;
  bool scoring_ = false;  ///< the last update was held out: the next one adds to the same mean
  double waited_s_ = 0, lived_s_ = 0;              ///< by the last update
  double shown_waited_s_ = 0, shown_lived_s_ = 0;  ///< by TakeWait
  void TakeScores(const TrainingUpdate& update);
  Rate taken_rate_, learned_rate_;
};

/// progress.csv: a header fixed at start, one row a log interval, flushed. Names follow
/// Stable-Baselines3; a number that does not exist yet is an empty field.
class ProgressFile {
 public:
  static Result<ProgressFile> Create(const std::string& path);
  /// Goes on with one that is there, after what `loaded` has come to. Later rows, which a learner
  /// wrote that died before its next checkpoint, are cut off, and so is half a row; `log` is told.
  /// One of an earlier version that lacks the last columns gets them, empty; one with another
  /// header is kept as PATH.1, PATH.2, ...
  static Result<ProgressFile> GoOn(const std::string& path, const Progress& loaded,
                                   const LogCallback& log);
  static std::string Header();
  static std::string Row(Progress& progress, std::int64_t now_ns);
  Status Append(const std::string& row);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  ProgressFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace murmurate
