// CheckingTrainer: two trainers side by side, given the same batches and plans: says how far the
// second is from the first after each of them. What it gives is the first one's.
#pragma once

#include <memory>
#include <string>

#include "server/learn/batch_trainer.h"

namespace murmurate {

class CheckingTrainer : public BatchTrainer {
 public:
  /// `tolerance`: of a number x, times 1 + |x|.
  CheckingTrainer(std::unique_ptr<BatchTrainer> first, std::unique_ptr<BatchTrainer> second,
                  double tolerance);

  /// The largest difference so far, in units of the tolerance: above 1 they disagree.
  double largest() const { return largest_; }
  /// Where it was: "parameter 17: 0.25 and 0.26 after 3 batches"; "" when there is none.
  const std::string& where() const { return where_; }

  std::optional<std::uint64_t> Open(std::uint64_t version, bool scores) override;
  void Prefetch(const TrainingBatch& next) override;
  void Fit(const AlgorithmSettings& settings) override;
  void Begin(const TrainingBatch& batch, const BatchPlan& plan) override;
  BatchSums Finish() override;
  Status Health() const override {
    const Status first = first_->Health();
    return first.ok() ? second_->Health() : first;
  }
  std::string Progress() const override { return second_->Progress(); }
  std::span<const float> parameters() const override { return first_->parameters(); }
  void SetParameters(std::span<const float> parameters) override;
  void Save(SavedState* state) const override { first_->Save(state); }
  Status Load(const SavedState& state) override;
  void Interrupt() override;

 private:
  void Compare(const std::string& what, double first, double second);
  void CompareSums(const BatchSums& first, const BatchSums& second);

  const std::unique_ptr<BatchTrainer> first_, second_;
  const double tolerance_;
  double largest_ = 0;
  std::string where_;
  int batches_ = 0;
};

}  // namespace murmurate
