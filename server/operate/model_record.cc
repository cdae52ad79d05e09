#include "server/operate/model_record.h"

#include "server/metrics/stream_metrics.h"
#include "shared/core/check.h"

namespace murmurate {

Result<std::unique_ptr<ModelRecord>> ModelRecord::Open(std::string name, std::string folder,
                                                       std::int64_t start_ns,
                                                       const ResumedProgress* resumed,
                                                       const SinkPlan& plan,
                                                       const LogCallback& log) {
  std::unique_ptr<ModelRecord> record(
      new ModelRecord(std::move(name), std::move(folder), start_ns));
  if (resumed != nullptr) MURMURATE_RETURN_IF_ERROR(record->Load(*resumed));
  const Reading loaded = record->progress_.Latest(start_ns);
  for (const OpenSink open : plan.sinks) {
    auto sink = open({record->folder_, resumed ? &loaded : nullptr, log, plan.run});
    if (!sink.ok()) return sink.status();
    record->sinks_.push_back(std::move(*sink));
  }
  return record;
}

Status ModelRecord::Load(const ResumedProgress& resumed) {
  MURMURATE_RETURN_IF_ERROR(
      progress_.Load(StateReader(*resumed.state, "progress"), resumed.number));
  for (const auto& [metric, curve] :
       {std::pair{&kStreamError, &stream_error_}, std::pair{&kStreamNaiveError, &naive_error_}})
    if (const auto earlier = ReadReportedCurve(folder_ + "/reports.csv", std::string(metric->name));
        earlier.ok())
      for (const CurvePoint& point : *earlier) curve->Add(point);
  return {};
}

void ModelRecord::ApplyEvaluation(const Evaluation& evaluation) {
  progress_.ApplyEvaluation(evaluation);
  if (beyond_) beyond_->ApplyEvaluation(evaluation);
}

void ModelRecord::AddEvaluated(const EpisodeRecord& episode) {
  progress_.AddEvaluated({&episode, 1});
  if (beyond_) beyond_->AddEvaluated({&episode, 1});
}

void ModelRecord::AddReport(const wire::ReportedNumber& number) {
  reports_.Add(number);
  Curve* const curve = number.name == kStreamError.name        ? &stream_error_
                       : number.name == kStreamNaiveError.name ? &naive_error_
                                                               : nullptr;
  if (curve != nullptr && number.count > 0)
    curve->Add({progress_.steps(), number.sum / number.count});
}

Reading ModelRecord::Live(std::int64_t now_ns) {
  Reading reading = progress_.Live(now_ns);
  reading.set_name(name_);
  reports_.AddLive(&reading);
  return reading;
}

Status ModelRecord::WriteRow(std::int64_t now_ns, const std::vector<MetricSample>& more) {
  Reading reading = progress_.EndRow(now_ns);
  reading.set_name(name_);
  reports_.EndRow(&reading);
  for (const MetricSample& sample : more) reading.Add(*sample.metric, sample.label, sample.value);
  Status first;
  for (const auto& sink : sinks_)
    if (Status status = sink->Write(reading); first.ok()) first = std::move(status);
  return first;
}

std::vector<CurveSeries> ModelRecord::Curves(bool stream) const {
  if (stream)
    return {{kStreamCurve, {stream_error_.points()}}, {kNaiveCurve, {naive_error_.points()}}};
  const auto& scores = progress_.evaluation_curve().points();
  if (scores.empty()) return {{"", {progress_.curve().points()}}};
  return {{"training", {progress_.curve().points()}}, {"evaluation", {scores}}};
}

}  // namespace murmurate
