// ExperienceStore: what a model learns from next, and how much may be played meanwhile: the seam
// between those who assemble verified experience (ingest, files, a stream) and the learner.
//
//   assembled batch --Insert--> store --Next--> batch to learn from --Learned--> store
//        ^                                                                         |
//        +-------------------------------- Release --------------------------------+
//
// A store is called by its learning thread alone, between two batches: it needs no lock. What other
// threads must know of it is credit(), which LearnLoop publishes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "server/experience/training_batch.h"
#include "shared/model/state.h"

namespace murmurate {

class ExperienceStore {
 public:
  virtual ~ExperienceStore() = default;

  /// Receives a batch as it was assembled; its trajectories are verified.
  virtual void Insert(std::unique_ptr<TrainingBatch> batch) = 0;
  /// The batch to learn from next, which stays the store's; null: not before more is inserted.
  virtual TrainingBatch* Next() = 0;
  /// After each Next that gave a batch. `learned`: false when it was left out, as if it had never
  /// been inserted. `row_answers`: what was found of each row (Algorithm::row_answers); empty:
  /// nothing.
  virtual void Learned(bool learned, std::span<const float> row_answers) = 0;
  /// A batch that may be assembled anew, cleared; null: none.
  virtual std::unique_ptr<TrainingBatch> Release() = 0;

  /// How many trajectories the players have back, of all that were inserted since the store was
  /// made: so many more may be under way. It never falls.
  virtual std::uint64_t credit() const = 0;
  /// Why Next gives nothing though much is inserted, in words for `status`; "": it only waits for
  /// experience.
  virtual std::string Waiting() const { return {}; }

  /// What a run that goes on needs of it.
  virtual void Save(const StateWriter& /*writer*/) const {}
  virtual Status Load(const StateReader& /*reader*/) { return {}; }
};

/// On-policy learning: each batch is learned from once, as it was inserted, and gives its credit
/// back then.
class OnPolicyStore : public ExperienceStore {
 public:
  void Insert(std::unique_ptr<TrainingBatch> batch) override;
  TrainingBatch* Next() override { return used_ ? nullptr : batch_.get(); }
  void Learned(bool learned, std::span<const float> row_answers) override;
  std::unique_ptr<TrainingBatch> Release() override;
  std::uint64_t credit() const override { return credit_; }

 private:
  std::unique_ptr<TrainingBatch> batch_;
  bool used_ = false;
  std::uint64_t credit_ = 0;
};

}  // namespace murmurate
