// Daemon: one learner: puts ingest, learning, publishing and operating together, each on its
// thread.
//
//   mmr-ingest  --full batch-->  mmr-learn(.N)  --Snapshot-->  mmr-publish
//                                     `--------TrainingUpdate-->  mmr-operate
//
// Models are made when an actor first names them; those of streams, of which each has a thread
// (mmr-stream, streaming.h) in place of ingest, at the start. Stop goes in the reverse order of
// start and leaves no thread, segment, socket file or lock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/config/config.h"
#include "server/config/initial_weights.h"
#include "server/daemon/resume_plan.h"
#include "server/daemon/signals.h"
#include "server/daemon/training_places.h"
#include "server/data/data_source.h"
#include "server/operate/display.h"
#include "server/operate/operate.h"
#include "server/operate/run_directory.h"
#include "server/parameters/collective_job.h"

namespace murmurate {

struct DaemonOptions {
  RunDirectory::WhenTaken when_taken = RunDirectory::WhenTaken::kRefuse;
  Display::Mode display = Display::Mode::kLines;
  LogLevel console = LogLevel::kInfo;
  std::string command;                 ///< for command.txt
  InitialFiles initial_files;          ///< all that the config names
  std::optional<ResumePlan> plan;      ///< what the run goes on from
  bool own_actors = false;             ///< the process that starts the daemon starts them, too
  bool page = false;                   ///< there is a live page if page.listen does not say
  std::int64_t start_ns = 0;           ///< of the process: times are counted from here
  std::shared_ptr<DataSource> source;  ///< not null: learn from it, and take no actors
  /// Not null: this learner is one of its ranks; rank 0 tells the others its folder, once.
  std::shared_ptr<CollectiveJob> job;
  PlaceMakers places;  ///< how devices are opened and trainers made; tests give others
};

class Daemon {
 public:
  /// `signals` is told when the run is over or cannot go on; it must outlive the daemon.
  static Result<std::unique_ptr<Daemon>> Start(const Config& config, DaemonOptions options,
                                               Signals* signals);
  ~Daemon();  ///< as Stop, if that was not called

  const std::vector<std::string>& addresses() const;
  const std::string& directory() const;
  /// Of the live page, with its token where it may steer the run; "": there is none.
  std::string page_url() const;
  const LogCallback& log() const;
  int actors_left() const;  ///< that have not left
  void Print(const std::string& line);
  /// Takes what may change of a config that was read again (reloading.h), or says in the log why it
  /// could not be read.
  void Reload(const Result<Config>& fresh);

  struct Outcome {
    StepCount steps;
    double seconds = 0;
    std::optional<double> mean_return;
    std::optional<Evaluation> evaluation;  ///< of the last weights, or the last there was
    std::string checkpoint;                ///< "" when no model was ever made
    double learner_wait = 0;               ///< of 1
    std::optional<double> actor_wait = {};
    std::string scores = {};  ///< of supervised and bc: "train/loss 0.031, eval/accuracy 0.98"
    std::vector<Reading> streams = {};  ///< of those it had
    bool solved_at_last = false;        ///< the last evaluation reached run.stop_at_return
    /// How a run ended that `asked` ended: one whose last evaluation reaches run.stop_at_return is
    /// solved, though its steps are spent.
    RunEnd End(RunEnd asked) const {
      return asked == RunEnd::kBudgetSpent && solved_at_last ? RunEnd::kSolved : asked;
    }
    Status unreached =
        {};  ///< not ok: a shard that never answered (kResource); nothing was learned
  };
  /// Says goodbye to the actors and goes on answering them until `actors_gone` or 1 s (at least
  /// until the goodbye is out), ends the threads, evaluates the last weights (at most 5 s; 60 s
  /// when the run ended by its own rules), writes the last row, the curve and a checkpoint.
  /// In lock-step it ends between two versions. `resume_follows`: lock-step actors wait a minute.
  Outcome Stop(const std::string& reason, const std::function<bool()>& actors_gone,
               bool resume_follows = false);
  /// Tells the shards of a parameter server, after Stop, that this learner does not come back. So
  /// the next life, which has another number there, need not wait until they miss this one.
  void LeaveShards();
  /// True when some Stop did not wait for a hook, or for a batch that took longer than 3 s: its
  /// thread is still inside (its result is lost, nothing else is), and the process must end with
  /// _exit. A rank of a job waits instead.
  static bool left_a_thread();

 private:
  struct State;
  explicit Daemon(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
