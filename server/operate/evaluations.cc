#include "server/operate/evaluations.h"

#include <array>
#include <cmath>

#include "server/metrics/model_metrics.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::array<const char*, 3> kBy = {"learner", "evaluation.share", "Mode(kEvaluate)"};

}  // namespace

void Evaluations::Apply(const Evaluation& evaluation) {
  of_weights_ = true;
  newest_ = evaluation;
  curve_.Add({evaluation.steps, evaluation.mean_return});
}

void Evaluations::Add(std::span<const EpisodeRecord> episodes, const StepCount& now) {
  if (of_weights_) return;
  for (const EpisodeRecord& episode : episodes)
    if (episode.mode == 1) AppendToWindow(episode, &played_);
  if (played_.empty()) return;
  newest_ = EvaluationOf(played_);
  newest_->steps = now.taken;
  newest_->learned_steps = now.learned;
  newest_->by = EvaluatedBy::kGame;
  if (played_.size() == kEpisodeWindow) curve_.Add({now.taken, newest_->mean_return});
}

void Evaluations::PutInto(Reading* reading) const {
  if (!newest_) return;
  reading->Set(kEvalReturn, newest_->mean_return);
  reading->Set(kEvalDeviation, newest_->deviation);
  reading->Set(kEvalLength, newest_->mean_length);
  reading->Set(kEvalSuccess, newest_->success_rate);
  reading->Set(kEvalSteps, newest_->steps);
  reading->Set(kEvalEpisodes, newest_->episodes);
  reading->Set(kEvalLearnedSteps, newest_->learned_steps);
  reading->Set(kEvalBy, kBy[static_cast<std::size_t>(newest_->by)]);
}

void Evaluations::Save(const StateWriter& writer) const {
  curve_.Save("evaluations", writer);
  if (!newest_) return;
  writer.Words("evaluation_of", {{newest_->steps, newest_->version, newest_->episodes}});
  writer.Words("evaluation_learned", {{newest_->learned_steps}});
  writer.Words("evaluation_by", {{static_cast<std::uint64_t>(newest_->by)}});
  writer.Doubles("evaluation", {{newest_->mean_return, newest_->deviation, newest_->mean_length,
                                 newest_->success_rate.value_or(std::nan(""))}});
}

Status Evaluations::Load(const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(curve_.Load("evaluations", reader));
  std::array<std::uint64_t, 3> of{};
  std::array<double, 4> scores{};
  if (!reader.Words("evaluation_of", of).ok()) return {};  // there was none yet
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("evaluation", scores));
  newest_ = Evaluation{of[0], of[1], of[2], scores[0], scores[1], scores[2]};
  if (!reader.Words("evaluation_learned", std::span(&newest_->learned_steps, 1)).ok())
    newest_->learned_steps = of[0];  // of an earlier version, whose numbers were these
  if (!std::isnan(scores[3])) newest_->success_rate = scores[3];
  std::uint64_t by = 0;  // of an earlier version: not said
  if (reader.Words("evaluation_by", std::span(&by, 1)).ok() && by < kBy.size())
    newest_->by = static_cast<EvaluatedBy>(by);
  return {};
}

}  // namespace murmurate
