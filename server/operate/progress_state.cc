// What a model's progress saves in a checkpoint.
#include <array>
#include <cmath>

#include "server/operate/progress.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

void SaveEpisodes(const EpisodeList& episodes, const std::string& name, const StateWriter& writer) {
  std::vector<double> returns;
  std::vector<std::uint64_t> lengths, success;
  for (const EpisodeRecord& episode : episodes) {
    returns.push_back(episode.raw_return);
    lengths.push_back(episode.length);
    success.push_back(episode.success);
  }
  writer.Doubles(name + "_returns", returns);
  writer.Words(name + "_lengths", lengths);
  writer.Words(name + "_success", success);
}

Status LoadEpisodes(const StateReader& reader, const std::string& name, EpisodeList* episodes) {
  const auto lengths = reader.AllWords(name + "_lengths");
  if (!lengths.ok()) return lengths.status();
  std::vector<double> returns(lengths->size());
  std::vector<std::uint64_t> success(lengths->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name + "_returns", returns));
  MURMURATE_RETURN_IF_ERROR(reader.Words(name + "_success", success));
  for (std::size_t i = 0; i < returns.size() && i < Progress::kWindow; ++i)
    episodes->push_back({returns[i], static_cast<std::uint32_t>((*lengths)[i]), 0,
                         static_cast<std::uint8_t>(success[i])});
  return {};
}

void SaveCurve(const Curve& curve, const std::string& name, const StateWriter& writer) {
  std::vector<double> means;
  std::vector<std::uint64_t> steps;
  for (const CurvePoint& point : curve.points()) {
    means.push_back(point.mean_return);
    steps.push_back(point.steps);
  }
  writer.Doubles(name + "_returns", means);
  writer.Words(name + "_steps", steps);
}

Status LoadCurve(const StateReader& reader, const std::string& name, Curve* curve) {
  const auto steps = reader.AllWords(name + "_steps");
  if (!steps.ok()) return steps.status();
  std::vector<double> means(steps->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name + "_returns", means));
  for (std::size_t i = 0; i < means.size(); ++i) curve->Add({(*steps)[i], means[i]});
  return {};
}

}  // namespace

void Progress::Save(std::int64_t now_ns, const StateWriter& writer) const {
  writer.Words("counters", {{steps(), values_.Count(kDroppedSteps), values_.Count(kTrainedSteps),
                             values_.Count(kUpdates), values_.Count(kVersion), episodes_}});
  writer.Words("late_steps", {{values_.Count(kLateSteps)}});
  writer.Doubles("elapsed", {{elapsed_s(now_ns)}});
  SaveEpisodes(window_, "window", writer);
  SaveEpisodes(said_, "said", writer);
  SaveCurve(curve_, "curve", writer);
  SaveCurve(evaluation_curve_, "evaluations", writer);
  if (!evaluation_) return;
  writer.Words("evaluation_of",
               {{evaluation_->steps, evaluation_->version, evaluation_->episodes}});
  writer.Words("evaluation_learned", {{evaluation_->learned_steps}});
  writer.Doubles("evaluation",
                 {{evaluation_->mean_return, evaluation_->deviation, evaluation_->mean_length,
                   evaluation_->success_rate.value_or(std::nan(""))}});
}

Status Progress::Load(const StateReader& reader, std::uint64_t number) {
  std::array<std::uint64_t, 6> counters{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("counters", counters));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("elapsed", std::span(&earlier_s_, 1)));
  MURMURATE_RETURN_IF_ERROR(LoadEpisodes(reader, "window", &window_));
  MURMURATE_RETURN_IF_ERROR(LoadEpisodes(reader, "said", &said_));
  MURMURATE_RETURN_IF_ERROR(LoadCurve(reader, "curve", &curve_));
  MURMURATE_RETURN_IF_ERROR(LoadCurve(reader, "evaluations", &evaluation_curve_));
  steps_ = {number, counters[0]};
  taken_rate_.BeginAt(counters[0]);
  learned_rate_.BeginAt(number);
  values_.Set(kDroppedSteps, counters[1]);
  values_.Set(kTrainedSteps, counters[2]);
  values_.Set(kUpdates, counters[3]);
  values_.Set(kVersion, counters[4]);
  episodes_ = counters[5];
  std::uint64_t late_steps = 0;  // which a checkpoint of an earlier version did not count
  if (reader.Words("late_steps", std::span(&late_steps, 1)).ok())
    values_.Set(kLateSteps, late_steps);
  std::array<std::uint64_t, 3> of{};
  std::array<double, 4> scores{};
  if (!reader.Words("evaluation_of", of).ok()) return {};  // there was none yet
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("evaluation", scores));
  evaluation_ = Evaluation{of[0], of[1], of[2], scores[0], scores[1], scores[2]};
  if (!reader.Words("evaluation_learned", std::span(&evaluation_->learned_steps, 1)).ok())
    evaluation_->learned_steps = of[0];  // of an earlier version, whose numbers were these
  if (!std::isnan(scores[3])) evaluation_->success_rate = scores[3];
  return {};
}

}  // namespace murmurate
