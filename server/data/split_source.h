// SplitSource: what is learned from, and beside it what is only scored: a test set that came as
// files of its own.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "server/data/data_source.h"

namespace murmurate {

class SplitSource : public DataSource {
 public:
  /// Joins two of one kind: a batch takes as many items of either. kInvalidData: other spaces.
  static Result<std::unique_ptr<SplitSource>> Join(std::unique_ptr<DataSource> learned,
                                                   std::unique_ptr<DataSource> scored);

  const Spaces& spaces() const override { return learned_->spaces(); }
  std::uint64_t items() const override { return learned_->items(); }
  const DataSource* scored() const override { return scored_.get(); }
  std::uint64_t steps() const override { return learned_->steps(); }
  int length() const override { return std::max(learned_->length(), scored_->length()); }
  Status PrepareFor(const ModelSpec& model, int length) override;
  std::uint64_t ItemsOf(const TrainingBatch& batch) const override {
    return learned_->ItemsOf(batch);
  }
  Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const override {
    return learned_->Fill(items, batch);
  }
  ReadBlocks blocks() const override { return learned_->blocks(); }
  void BeginToRead(std::uint64_t first, std::uint64_t count) const override {
    learned_->BeginToRead(first, count);
  }
  std::vector<DataFile> files() const override;  ///< of both
  std::string Description() const override;
  std::string Returns() const override { return learned_->Returns(); }
  std::vector<std::string> Notes() const override;  ///< of both

 private:
  SplitSource(std::unique_ptr<DataSource> learned, std::unique_ptr<DataSource> scored)
      : learned_(std::move(learned)), scored_(std::move(scored)) {}
  const std::unique_ptr<DataSource> learned_, scored_;
};

}  // namespace murmurate
