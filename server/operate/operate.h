// Operate: what mmr-operate repeats: take what the learning threads report, keep the run's files
// and its display up to date, answer `murmurate status` and `stop`, and say when the run is over.
//
//   mmr-learn --Post--> mailbox --PollOnce--> progress.csv, display, stop rules
//   `murmurate status` --admin socket--> PollOnce --> JSON
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/operate/admin.h"
#include "server/operate/checkpoint_writer.h"
#include "server/operate/display.h"
#include "server/operate/progress.h"
#include "server/operate/reports.h"
#include "server/operate/run_directory.h"
#include "server/operate/status_report.h"
#include "server/operate/stop_rules.h"

namespace murmurate {

/// A model that goes on from the checkpoint of that number.
struct ResumedProgress {
  std::string model;
  const SavedState* state = nullptr;  ///< read by Open
  std::uint64_t number = 0;
};

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
  std::function<std::vector<StreamView>()> streams = {};  ///< may be empty
  /// The games' settings as they are, and `murmurate set`; may be empty.
  std::function<std::vector<std::pair<std::string, double>>()> settings = {};
  std::function<Result<std::string>(const std::string& assignment)> set = {};
  std::function<void(RunEnd)> on_end;  ///< called once
  LogCallback log;
};

class Operate {
 public:
  static Result<std::unique_ptr<Operate>> Open(SocketContext& context, OperateOptions options);

  void Post(TrainingUpdate update);  ///< any thread; returns at once
  /// Numbers that the game of `model` reported; any thread; returns at once.
  /// `evaluated`: in Mode(kEvaluate); kept as eval/NAME.
  void PostReports(const std::string& model, std::span<const wire::ReportedNumber> numbers,
                   bool evaluated);
  /// A checkpoint of `model` is due, with the progress of what was posted before it:
  /// `make` runs on the writing thread; any thread; returns at once.
  void PostCheckpoint(const std::string& model, CheckpointWriter::Make make);
  /// As PostCheckpoint, for what an evaluation came to (CheckpointWriter::PostBest): the weights
  /// alone.
  void PostBest(const std::string& model, EvaluatedReturn evaluated, CheckpointWriter::Make make);
  /// What mmr-checkpoint repeats.
  CheckpointWriter& writer() { return writer_; }
  /// A model was made: before anything else is posted of it, so that both know which is the first;
  /// any thread; returns at once.
  void PostModel(const std::string& model);
  /// What the learner's own evaluation of `model` came to; any thread; returns at once.
  void PostEvaluation(const std::string& model, const Evaluation& evaluation);
  /// Episodes that an actor played in Mode(kEvaluate); any thread; returns at once.
  void PostEvaluated(const std::string& model, std::span<const EpisodeRecord> episodes);
  /// The operating thread: waits up to `timeout_ms`, and no longer than until the next row is due,
  /// for an update or a question; bounded. Reported numbers and evaluated episodes wake it only
  /// when there are many: they are shown with what comes next.
  void PollOnce(int timeout_ms);
  void Wake() { wake_.Set(); }

  /// After the operating thread has ended: the last rows, the curves, the last line of the display;
  /// what was posted is with the writer.
  void Finish();
  /// How the writing of the first model's checkpoints goes.
  CheckpointHealth checkpoints() const { return writer_.Health(models_.front()->folder); }

  /// The stop rules were met; after the operating thread has ended.
  bool ended_by_itself() const { return frozen_; }
  /// The first model's progress; after the operating thread has ended.
  const Progress& progress() const { return *models_.front()->progress; }

 private:
  struct Model {
    std::string name, folder;
    std::unique_ptr<Progress> progress;
    std::optional<ProgressFile> file;
    Reports reports;
    Curve error, naive;  ///< of a stream's
  };

  explicit Operate(OperateOptions options);
  Status AddModel(const std::string& name, const ResumedProgress* resumed = nullptr);
  Model* Find(const std::string& name);
  static constexpr std::size_t kManyWaiting = 1000;           ///< fewer wait for what comes next
  static constexpr std::int64_t kQuietRowNs = 5'000'000'000;  ///< from a row to one that repeats it
  std::int64_t RowDueNs() const { return news_ ? next_row_ns_ : quiet_row_ns_; }
  void TakeMail();
  struct DueCheckpoint {
    std::string model;
    CheckpointWriter::Make make;
    std::size_t after = 0;        ///< so many of the updates that came with it
    std::size_t evaluations = 0;  ///< likewise
    std::optional<EvaluatedReturn> evaluated = {};
  };
  void TakeUpdate(const TrainingUpdate& update);
  void PassOn(DueCheckpoint due);
  void TakeEvaluations(std::span<const std::pair<std::string, Evaluation>> evaluations);
  void CheckStop(const Progress& progress);
  void WriteRows(std::int64_t now_ns);
  void TakeReport(const std::string& name, const wire::ReportedNumber& number);
  bool IsStream(const Model& model, const std::vector<StreamView>& streams) const;
  void DrawCurve(const Model& model);
  void DrawStream(const Model& model) const;
  void WritePicture(const Model& model, const std::string& svg) const;
  void ShowStreams(const std::vector<StreamView>& streams, ProgressView* view) const;
  void Show(std::int64_t now_ns);
  wire::AdminOk AnswerTo(const std::string& command);
  StatusReport Report();

  OperateOptions options_;
  WakeSignal wake_;
  std::mutex mutex_;
  std::vector<std::string> made_;
  std::vector<TrainingUpdate> mail_;
  std::vector<std::pair<std::string, wire::ReportedNumber>> reported_;
  std::vector<DueCheckpoint> checkpoints_;
  CheckpointWriter writer_;
  std::vector<std::pair<std::string, Evaluation>> evaluations_;
  std::vector<std::pair<std::string, EpisodeRecord>> evaluated_;
  std::optional<AdminServer> admin_;
  std::vector<std::unique_ptr<Model>> models_;  ///< the first is there from the start
  bool named_ = false;                          ///< the first model is known by name
  bool ended_ = false;
  bool frozen_ =
      false;          ///< ended by its own rules: the first model's numbers stay as they were then
  bool news_ = true;  ///< something came since the last row
  std::int64_t next_row_ns_ = 0, quiet_row_ns_ = 0, next_show_ns_ = 0, next_curve_ns_ = 0;
};

}  // namespace murmurate
