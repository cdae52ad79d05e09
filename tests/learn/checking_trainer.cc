#include "tests/learn/checking_trainer.h"

#include <cmath>
#include <limits>
#include <utility>

namespace murmurate {

CheckingTrainer::CheckingTrainer(std::unique_ptr<BatchTrainer> first,
                                 std::unique_ptr<BatchTrainer> second, double tolerance)
    : first_(std::move(first)), second_(std::move(second)), tolerance_(tolerance) {}

std::optional<std::uint64_t> CheckingTrainer::Open(std::uint64_t version, bool scores) {
  const auto first = first_->Open(version, scores), second = second_->Open(version, scores);
  return second ? first : std::nullopt;
}

void CheckingTrainer::Prefetch(const TrainingBatch& next) {
  first_->Prefetch(next);
  second_->Prefetch(next);
}

void CheckingTrainer::Fit(const AlgorithmSettings& settings) {
  first_->Fit(settings);
  second_->Fit(settings);
}

void CheckingTrainer::Begin(const TrainingBatch& batch, const BatchPlan& plan) {
  first_->Begin(batch, plan);
  second_->Begin(batch, plan);
}

BatchSums CheckingTrainer::Finish() {
  const BatchSums first = first_->Finish(), second = second_->Finish();
  ++batches_;
  CompareSums(first, second);
  const auto mine = first_->parameters(), others = second_->parameters();
  Compare("size", static_cast<double>(mine.size()), static_cast<double>(others.size()));
  for (std::size_t i = 0; i < std::min(mine.size(), others.size()); ++i)
    Compare("parameter " + std::to_string(i), mine[i], others[i]);
  return first;
}

void CheckingTrainer::CompareSums(const BatchSums& first, const BatchSums& second) {
  for (std::size_t i = 0; i < first.algorithm.size(); ++i)
    Compare("sum " + std::to_string(i), first.algorithm[i], second.algorithm[i]);
  Compare("begun", static_cast<double>(first.begun), static_cast<double>(second.begun));
  Compare("updates", static_cast<double>(first.updates), static_cast<double>(second.updates));
  Compare("skipped", static_cast<double>(first.skipped), static_cast<double>(second.skipped));
  Compare("norms", first.norms, second.norms);
  for (std::size_t i = 0; i < std::min(first.row_answers.size(), second.row_answers.size()); ++i)
    Compare("answer " + std::to_string(i), first.row_answers[i], second.row_answers[i]);
}

void CheckingTrainer::Compare(const std::string& what, double first, double second) {
  const bool same = first == second || (std::isnan(first) && std::isnan(second));
  const double apart = std::abs(first - second) / (tolerance_ * (1.0 + std::abs(first)));
  const double far = same                ? 0.0
                     : std::isnan(apart) ? std::numeric_limits<double>::infinity()
                                         : apart;
  if (far <= largest_) return;
  largest_ = far;
  where_ = what + ": " + std::to_string(first) + " and " + std::to_string(second) + " after " +
           std::to_string(batches_) + " batches";
}

void CheckingTrainer::SetParameters(std::span<const float> parameters) {
  first_->SetParameters(parameters);
  second_->SetParameters(parameters);
}

Status CheckingTrainer::Load(const SavedState& state) {
  const Status status = first_->Load(state);
  return status.ok() ? second_->Load(state) : status;
}

void CheckingTrainer::Interrupt() {
  first_->Interrupt();
  second_->Interrupt();
}

}  // namespace murmurate
