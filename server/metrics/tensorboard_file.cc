#include "server/metrics/tensorboard_file.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "server/metrics/event_file.h"
#include "server/metrics/event_message.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/row_values.h"
#include "server/metrics/run_description.h"
#include "server/metrics/wall_clock.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// What came since `earlier`; all, where another life counted that.
Histogram Since(const Histogram& earlier, const Histogram& now) {
  if (earlier.bounds != now.bounds || earlier.count() > now.count()) return now;
  Histogram since = now;
  for (std::size_t i = 0; i < since.counts.size(); ++i)
    since.counts[i] -= std::min(earlier.counts[i], now.counts[i]);
  since.sum -= earlier.sum;
  return since;
}

class TensorBoardFile : public MetricSink {
 public:
  TensorBoardFile(EventFile file, const Metric& step) : step_(step), file_(std::move(file)) {}

  /// Marks the beginning of a life that goes on from `steps`, or of the first.
  Status Begin(std::optional<std::uint64_t> steps, const RunDescription* run) {
    EventMessage version(UnixSeconds(), 0), start(UnixSeconds(), steps ? *steps + 1 : 0);
    version.SetFileVersion();
    start.SetSessionStart();
    MURMURATE_RETURN_IF_ERROR(file_.Append(version.Finish()));
    MURMURATE_RETURN_IF_ERROR(file_.Append(start.Finish()));
    if (run == nullptr) return {};
    EventMessage description(UnixSeconds(), steps.value_or(0));
    description.AddText("config", "```toml\n" + run->config + "```\n");
    description.AddHyperparameters(run->settings, UnixSeconds());
    return file_.Append(description.Finish());
  }

  /// Writes what came since the last histograms.
  ~TensorBoardFile() override {
    EventMessage rest(UnixSeconds(), newest_.Count(step_));
    if (AddHistograms(newest_, &rest)) (void)file_.Append(rest.Finish());
  }

  Status Write(const Reading& reading) override {
    EventMessage row(UnixSeconds(), reading.Count(step_));
    for (const auto& [tag, value] : RowValues(reading)) row.AddScalar(tag, *value.number());
    const double elapsed_s = reading.Number(kElapsed).value_or(0);
    if (elapsed_s >= next_histograms_s_ && AddHistograms(reading, &row))
      next_histograms_s_ = elapsed_s + std::clamp(elapsed_s / 10, 5.0, 60.0);
    newest_ = reading;
    return row.empty() ? Status() : file_.Append(row.Finish());
  }

 private:
  /// False: nothing came since the last ones.
  bool AddHistograms(const Reading& reading, EventMessage* row) {
    int left = kMostHistograms;
    bool any = false;
    for (const MetricSample& sample : reading.samples()) {
      const auto* histogram = std::get_if<Histogram>(&sample.value.variant());
      if (histogram == nullptr || left-- <= 0) continue;
      std::string tag(sample.metric->name);
      if (!sample.label.empty()) tag += '/' + sample.label;
      Histogram& before = written_[tag];
      const Histogram since = Since(before, *histogram);
      any |= since.count() > 0;
      row->AddHistogram(tag, since);
      before = *histogram;
    }
    return any;
  }

  const Metric& step_;
  EventFile file_;
  Reading newest_;
  double next_histograms_s_ = 0;
  std::map<std::string, Histogram> written_;  ///< by tag, as they were when last written
};

}  // namespace

Result<std::unique_ptr<MetricSink>> OpenTensorBoardFile(const SinkTarget& target) {
  const Metric& step = target.step != nullptr ? *target.step : kEnvironmentSteps;
  std::optional<std::uint64_t> steps;
  if (target.resumed != nullptr) steps = target.resumed->Count(step);
  const auto cut = CutEventsAfter(target.folder, steps);
  if (!cut.ok()) return cut.status();
  if (*cut > 0 && target.log)
    target.log(LogLevel::kInfo, target.folder + ": cut off " + std::to_string(*cut) +
                                    " bytes of TensorBoard's events after step " +
                                    std::to_string(steps.value_or(0)));
  auto file = EventFile::Create(target.folder);
  if (!file.ok()) return file.status();
  auto sink = std::make_unique<TensorBoardFile>(std::move(*file), step);
  MURMURATE_RETURN_IF_ERROR(sink->Begin(steps, target.run));
  return std::unique_ptr<MetricSink>(std::move(sink));
}

}  // namespace murmurate
