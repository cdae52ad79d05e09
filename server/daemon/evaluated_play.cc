#include "server/daemon/evaluated_play.h"

#include <bit>
#include <cmath>
#include <utility>

namespace murmurate {
namespace {

/// s / sqrt(n): the deviation of `evaluation` is that of its n episodes, so s^2 is n / (n - 1) of
/// its square.
double StandardError(const Evaluation& evaluation) {
  return evaluation.deviation / std::sqrt(static_cast<double>(evaluation.episodes) - 1.0);
}

}  // namespace

void EvaluatedPlay::OnSnapshot(std::shared_ptr<const Snapshot> snapshot, const StepCount& steps) {
  Weights newest{std::move(snapshot), steps};
  const std::lock_guard lock(mutex_);
  std::swap(newest_, newest);
}

EvaluatedPlay::Weights EvaluatedPlay::newest() const {
  const std::lock_guard lock(mutex_);
  return newest_;
}

void EvaluatedPlay::Add(std::span<const EpisodeRecord> episodes, std::int64_t now_ns) {
  for (const EpisodeRecord& episode : episodes) {
    if (episode.mode == 0) continue;
    if (!since_ns_.has_value()) since_ns_ = now_ns;
    if (era_.size() == kMostEpisodes) BeginEra();
    era_.push_back(episode);
    Mark();
    if (era_.size() >= kLeastEpisodes && now_ns - *since_ns_ >= kLeastNs) EndEra();
  }
}

void EvaluatedPlay::BeginEra() {
  era_.clear();
  middle_ = next_middle_ = {};
}

/// Notes the weights that an episode of the era has ended under, where they may become its middle.
void EvaluatedPlay::Mark() {
  constexpr std::size_t kFirst = kLeastEpisodes / 2;
  const std::size_t size = era_.size();
  if (size % kFirst != 0 || !std::has_single_bit(size / kFirst)) return;
  middle_ = std::exchange(next_middle_, newest());
}

void EvaluatedPlay::EndEra() {
  const Weights weights = middle_;
  Result result{EvaluationOf(era_), weights.snapshot, settings_()};
  BeginEra();
  since_ns_.reset();
  if (weights.snapshot == nullptr) return;  // of before there were any
  result.evaluation.version = weights.snapshot->version;
  result.evaluation.steps = weights.steps.taken;
  result.evaluation.learned_steps = weights.steps.learned;
  result.evaluation.by = EvaluatedBy::kShare;
  result.best = !Beaten(result);
  if (result.best) best_ = {result.evaluation.mean_return, result.settings};
  on_result_(std::move(result));
}

bool EvaluatedPlay::Beaten(const Result& result) const {
  const EvaluatedReturn now{result.evaluation.mean_return - StandardError(result.evaluation),
                            result.settings};
  return best_.has_value() && !Beats(now, *best_);
}

}  // namespace murmurate
