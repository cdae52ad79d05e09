// Operate: what mmr-operate repeats: take what the learning threads report, have the models'
// records written and shown, answer `murmurate status` and `stop`, and say when the run is over.
//
//   mmr-learn --Post--> mailbox --PollOnce--> ModelRecord --Reading--> sinks, display
//   `murmurate status` --admin socket--> PollOnce --> JSON
//   the live page      --SnapshotBoard--> PollOnce --> RunSnapshot
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/log.h"
#include "server/metrics/metric_sink.h"
#include "server/metrics/run_description.h"
#include "server/operate/admin.h"
#include "server/operate/checkpoint_writer.h"
#include "server/operate/display.h"
#include "server/operate/learning_pause.h"
#include "server/operate/mailbox.h"
#include "server/operate/model_record.h"
#include "server/operate/row_schedule.h"
#include "server/operate/run_directory.h"
#include "server/operate/snapshot_board.h"
#include "server/operate/status_report.h"
#include "server/operate/stop_rules.h"

namespace murmurate {

struct OperateOptions {
  std::string title;  ///< over the learning curve
  const RunDirectory* directory = nullptr;
  Display* display = nullptr;
  StopRules stop;
  double log_interval_s = 5.0;
  Retention retention = {};
  std::vector<ResumedProgress> resumed = {};  ///< the first is the run's first model
  CheckpointWriter::OnTried on_tried = {};
  std::int64_t start_ns = 0;
  std::vector<std::string> listen;
  std::string admin_address;
  std::function<ActorsView()> actors;
  std::function<std::vector<Reading>()> streams = {};  ///< may be empty
  /// The games' settings as they are, and `murmurate set`; may be empty.
  std::function<std::vector<std::pair<std::string, double>>()> settings = {};
  std::function<Result<std::string>(const std::string& assignment)> set = {};
  /// Has every model write a checkpoint after the batch that it learns from or the next one, of a
  /// paused run at once; may be empty.
  std::function<void()> checkpoint = {};
  LearningPause* pause = nullptr;      ///< null: the run cannot be paused
  SnapshotBoard* board = nullptr;      ///< of those who watch the run; null: there are none
  std::function<void(RunEnd)> on_end;  ///< called once
  /// What hooks are told and say; may be empty. On the operating thread, after the progress of a
  /// model has taken an update: Operate::last_progress of the first.
  std::function<void(const TrainingUpdate&, const Progress&)> on_update = {};
  std::function<std::vector<Reading>()> hooks = {};
  LogCallback log;
  std::vector<OpenSink> sinks = MetricSinks();  ///< of each model
  RunDescription description = {};
};

class Operate {
 public:
  static Result<std::unique_ptr<Operate>> Open(SocketContext& context, OperateOptions options);

  // These post to the operating thread from any thread and return at once; what was posted earlier
  // is done earlier.

  /// A model was made: before anything else is posted of it, so that both know which is the first.
  void PostModel(const std::string& model);
  void Post(TrainingUpdate update);
  /// Numbers that the game of `model` reported. `evaluated`: in Mode(kEvaluate); kept as eval/NAME.
  void PostReports(const std::string& model, std::span<const wire::ReportedNumber> numbers,
                   bool evaluated);
  /// The result of an evaluation of weights of `model`.
  void PostEvaluation(const std::string& model, const Evaluation& evaluation);
  /// Episodes that an actor played in Mode(kEvaluate).
  void PostEvaluated(const std::string& model, std::span<const EpisodeRecord> episodes);
  /// A checkpoint of `model` is due, with the progress of what was posted before it:
  /// `make` runs on the writing thread.
  void PostCheckpoint(const std::string& model, CheckpointWriter::Make make);
  /// Posts as PostCheckpoint does, for an evaluation's result (CheckpointWriter::PostBest): the
  /// weights alone.
  void PostBest(const std::string& model, EvaluatedReturn evaluated, CheckpointWriter::Make make);

  /// Other rules to stop; the budget stays.
  void PostStopRules(std::optional<double> at_return, std::optional<std::uint64_t> at_steps);
  /// What the operating thread runs; Wake wakes it.
  Mailbox& mail() { return mail_; }

  /// The writer, whose PollOnce mmr-checkpoint repeats.
  CheckpointWriter& writer() { return writer_; }
  /// The operating thread: waits up to `timeout_ms`, and no longer than until the next row is due,
  /// for an update or a question; bounded. Reported numbers and evaluated episodes wake it only
  /// when there are many: they are shown with what comes next.
  void PollOnce(int timeout_ms);

  /// Writes, after the operating thread has ended, the last rows, the curves and the last line of
  /// the display; what was posted is with the writer then.
  void Finish();
  /// The health of the first model's checkpoints.
  CheckpointHealth checkpoints() const { return writer_.Health(models_.front()->folder()); }

  /// Whether the run has ended, and by whom. The operating thread, and after it has ended.
  RunEnding& ending() { return ending_; }
  /// The first model's progress; of the operating thread, and after it has ended.
  const Progress& progress() const { return models_.front()->progress(); }
  /// The same with the batches that were learned from after its rules had ended the run.
  const Progress& last_progress() const { return models_.front()->last_progress(); }

 private:
  explicit Operate(OperateOptions options);
  Status AddModel(const std::string& name, const ResumedProgress* resumed = nullptr);
  ModelRecord* Find(const std::string& name);
  void ReadMail();
  void ApplyUpdate(const TrainingUpdate& update);
  void ApplyEvaluation(const std::string& model, const Evaluation& evaluation);
  void SaveCheckpoint(const std::string& model, CheckpointWriter::Make make);
  void WriteRows(std::int64_t now_ns);
  void Show(std::int64_t now_ns);
  ScreenView View(std::int64_t now_ns);
  StatusReport Report();
  wire::AdminOk AnswerTo(const std::string& command);
  std::vector<Reading> Streams() const;

  OperateOptions options_;
  Mailbox mail_;
  CheckpointWriter writer_;
  RunEnding ending_;
  RowSchedule rows_;
  std::int64_t next_show_ns_, next_curve_ns_;
  std::optional<AdminServer> admin_;
  std::vector<std::unique_ptr<ModelRecord>> models_;  ///< the first is there from the start
  bool named_ = false;                                ///< the first model is known by name
};

}  // namespace murmurate
