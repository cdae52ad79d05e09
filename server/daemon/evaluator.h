// Evaluator: what mmr-evaluate repeats: plays a snapshot of one model without exploration, every so
// many steps learned from, beside training and behind it in priority.
//
//   mmr-learn --Offer--> one place --PollOnce--> 100 episodes --> on_evaluation
//
// There is one place: a snapshot that comes while another still waits in it takes its place, and
// the log says so. Training neither waits nor slows for it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "murmurate/log.h"
#include "server/daemon/scoring.h"
#include "server/experience/step_count.h"
#include "server/operate/evaluation.h"
#include "shared/model/weights_file.h"
#include "shared/transport/shared_segment.h"
#include "shared/weights/weights.h"

namespace murmurate {

/// The games' settings of one evaluation: all its episodes are played under those it began with,
/// whatever a curriculum makes of them meanwhile, and under those it is filed.
class SettingsOfPlay {
 public:
  using Values = std::map<std::string, double>;
  /// `live`: the settings as they are; of the thread that plays.
  explicit SettingsOfPlay(std::function<Values()> live) : live_(std::move(live)) {}

  void Begin() { values_ = live_(); }  ///< before any thread plays
  /// While it is played; any thread.
  double Of(std::string_view name, double fallback) const;
  const Values& values() const { return values_; }

 private:
  const std::function<Values()> live_;
  Values values_;
};

/// OnEvaluation is told the settings and the weights that were played, on the thread that played:
/// PollOnce's or Finish's.
using OnEvaluation = std::function<void(const Evaluation&, const SettingsOfPlay::Values&,
                                        std::shared_ptr<const Snapshot>)>;

struct EvaluatorOptions {
  std::string model = "default";
  ModelSpec spec;
  int episodes = 100;
  std::uint64_t every_steps = 0;             ///< learned from; 0: only Finish plays
  std::shared_ptr<SettingsOfPlay> settings;  ///< which the environments ask
  OnEvaluation on_evaluation;
  LogCallback log;
};

class Evaluator {
 public:
  /// `environments` (of one game, with the spec's spaces): Finish plays all of them at once,
  /// PollOnce the first.
  Evaluator(EvaluatorOptions options, Environments environments);
  ~Evaluator();

  /// The learning thread, at every new version; returns at once, and does something only when
  /// every_steps have passed since it last did.
  void Offer(std::shared_ptr<const Snapshot> snapshot, StepCount steps);

  bool periodic() const { return options_.every_steps > 0; }

  /// mmr-evaluate: waits for an offer and plays it; ends early after Cancel.
  void PollOnce(int timeout_ms);
  void Cancel();  ///< any thread; what is playing comes to nothing

  /// Evaluates the last snapshot, once the other thread has ended, unless that was evaluated last.
  /// Gives up, with a line in the log, at `deadline_ns`.
  void Finish(std::shared_ptr<const Snapshot> snapshot, StepCount steps, std::int64_t deadline_ns);

 private:
  struct Job {
    std::shared_ptr<const Snapshot> snapshot;
    StepCount steps;
  };
  bool Play(const Job& job, std::size_t threads, const std::function<bool()>& stop);
  void SayWhatWasSkipped();

  const EvaluatorOptions options_;
  const Environments environments_;
  std::uint64_t next_steps_;            ///< the learning thread's
  std::atomic<Job*> waiting_{nullptr};  ///< owned by the thread that exchanges it out
  std::atomic<int> skipped_{0};
  std::atomic<bool> cancelled_{false};
  FutexWord offers_{0};
  std::uint64_t evaluated_version_ = 0;  ///< of the thread that plays
};

}  // namespace murmurate
