// ModelRecord: one model's numbers on mmr-operate: its progress, what its games report, its curves,
// and the sinks that they go to. One thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "server/metrics/metric_sink.h"
#include "server/operate/learning_curve.h"
#include "server/operate/progress.h"
#include "server/operate/reports.h"

namespace murmurate {

/// A model that goes on from the checkpoint of that number.
struct ResumedProgress {
  std::string model;
  const SavedState* state = nullptr;  ///< read by ModelRecord::Open
  std::uint64_t number = 0;
};

/// What the sinks of a model are opened with.
struct SinkPlan {
  std::span<const OpenSink> sinks;
  const RunDescription* run = nullptr;
};

class ModelRecord {
 public:
  /// `folder`: of its files. `resumed`: null for a model that begins.
  static Result<std::unique_ptr<ModelRecord>> Open(std::string name, std::string folder,
                                                   std::int64_t start_ns,
                                                   const ResumedProgress* resumed,
                                                   const SinkPlan& sinks, const LogCallback& log);

  const std::string& name() const { return name_; }
  const std::string& folder() const { return folder_; }
  void set_name(std::string name) { name_ = std::move(name); }
  Progress& progress() { return progress_; }
  const Progress& progress() const { return progress_; }
  /// A copy, made by the first call: of what comes after the run's rules have ended it.
  Progress& beyond() {
    if (!beyond_) beyond_.emplace(progress_);
    return *beyond_;
  }
  /// The progress with what came after that.
  const Progress& last_progress() const { return beyond_ ? *beyond_ : progress_; }

  /// An evaluation, and an episode that an actor played without exploration: of the progress, and of
  /// the copy where there is one.
  void ApplyEvaluation(const Evaluation& evaluation);
  void AddEvaluated(const EpisodeRecord& episode);
  void AddReport(const wire::ReportedNumber& number);
  Reading Live(std::int64_t now_ns);
  /// Writes a row, with `more` samples that others have measured, to every sink; returns the first
  /// failure.
  Status WriteRow(std::int64_t now_ns, const std::vector<MetricSample>& more = {});
  /// The curves that plots/learning.svg shows of it.
  std::vector<CurveSeries> Curves(bool stream) const;

 private:
  ModelRecord(std::string name, std::string folder, std::int64_t start_ns)
      : name_(std::move(name)), folder_(std::move(folder)), progress_(start_ns) {}
  Status Load(const ResumedProgress& resumed);

  std::string name_;
  const std::string folder_;
  Progress progress_;
  std::optional<Progress> beyond_;  ///< empty: nothing came after the end
  Reports reports_;
  Curve stream_error_, naive_error_;  ///< of a stream's
  std::vector<std::unique_ptr<MetricSink>> sinks_;
};

}  // namespace murmurate
