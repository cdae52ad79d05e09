// ExperienceStore: what a model learns from next, and how much may be played meanwhile: the seam
// between those who assemble verified experience (ingest, files, a stream) and the learner.
//
//   assembled batch --Insert--> store --Next--> batch to learn from --Learned--> store
//        ^                                                                         |
//        +-------------------------------- Release --------------------------------+
//
// A store makes the learner wait by giving no batch, and the players by giving no credit. It is
// called by its learning thread alone, between two batches, and needs no lock: LearnLoop publishes
// its credit to ingest.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "server/experience/recorded_play.h"
#include "server/experience/training_batch.h"
#include "shared/model/model_spec.h"
#include "shared/model/state.h"

namespace murmurate {

/// StoreCounts count what a store has made of the batches inserted since it was made; none falls.
struct StoreCounts {
  /// Trajectories that the players have back: so many more may be under way.
  std::uint64_t credit = 0;
  /// Batches that have been learned from or are kept in what Save writes: a checkpoint counts their
  /// experience as its own.
  std::uint64_t batches = 0;
  /// Steps of play that have been learned from, each once: budgets and schedules go by them.
  std::uint64_t steps = 0;
};

/// LearnedBatch is what came of a batch that a store gave.
struct LearnedBatch {
  bool learned = true;      ///< false: it was left out, as if it had never been inserted
  std::uint64_t steps = 0;  ///< its rows that weighed
  /// The results found for each row of the plan (Algorithm::row_answers); empty: nothing.
  std::span<const float> row_answers = {};
};

/// StoreFolder is where a store keeps what is too large for a checkpoint: files of this store and of
/// nothing else.
struct StoreFolder {
  std::string path;
  const std::string& model;
  const ModelSpec& spec;
};

class ExperienceStore {
 public:
  virtual ~ExperienceStore() = default;

  /// Receives a batch as it was assembled; its trajectories are verified.
  virtual void Insert(std::unique_ptr<TrainingBatch> batch) = 0;
  /// The batch to learn from next, which stays the store's; null: not before more is inserted. One
  /// that is given again (TrainingBatch::learned) has scaled rewards and reports no episodes.
  virtual TrainingBatch* Next() = 0;
  /// Notes the result of a batch, after each Next that gave one.
  virtual void Learned(const LearnedBatch& result) = 0;
  /// A batch that may be assembled anew, cleared; null: none. For each that is inserted one must
  /// come back in the end: a store that keeps batches adds its own.
  virtual std::unique_ptr<TrainingBatch> Release() = 0;

  virtual StoreCounts counts() const = 0;
  /// Why Next gives no more until the next Insert, as one sentence; "": what is inserted is all that
  /// there is to learn from.
  virtual std::string Waiting() const { return ""; }

  /// Keeps recorded play to learn from beside what is inserted, before the first Insert and after
  /// Load: it is no play of this run and counts nowhere. Of a store that replays (a broken promise
  /// of any other). kInvalidArgument, kResource: it does not fit, as one sentence says.
  virtual Status Demonstrate(const RecordedPlay& play);

  /// Saves what a run that goes on needs; each learning thread's store has a section of its own.
  virtual void Save(const StateWriter& /*writer*/) const {}
  virtual Status Load(const StateReader& /*reader*/) { return {}; }
  /// What Load did not find of what Save had kept, as one sentence; "": nothing is missing.
  virtual std::string missing() const { return ""; }

  /// Keeps from now on what is too large for Save in a folder, to which what Save writes then
  /// refers; before the first Insert and before Load. kResource: it cannot be made.
  virtual Status KeepIn(const StoreFolder& /*folder*/) { return {}; }
  /// Why what is kept cannot be in its folder, as it is after an Insert; kOk once all of it is.
  virtual const Status& disk_health() const {
    static const Status kGood;
    return kGood;
  }
  /// Before a checkpoint with the section that Save wrote is put on the disk: waits until what it
  /// refers to is on the disk, and takes out of it what cannot be there. Any thread.
  virtual void Seal(const StateReader& /*saved*/, const StateWriter& /*section*/) {}
  /// Notes that this checkpoint is on the disk. Any thread.
  virtual void Written(const StateReader& /*saved*/) {}
};

/// StoreSetup is what a store is made from.
struct StoreSetup {
  const TrajectoryLayout& layout;
  std::uint64_t seed;   ///< of its draws
  BatchMemory& memory;  ///< of batches that it makes; outlives it
  bool places = false;  ///< batches of samples name rows by their places (KeptRows)
};

/// On-policy learning: each batch is learned from once, as it was inserted, and gives its credit
/// back then.
class OnPolicyStore : public ExperienceStore {
 public:
  void Insert(std::unique_ptr<TrainingBatch> batch) override;
  TrainingBatch* Next() override { return used_ ? nullptr : batch_.get(); }
  void Learned(const LearnedBatch& result) override;
  std::unique_ptr<TrainingBatch> Release() override;
  StoreCounts counts() const override { return counts_; }

 private:
  std::unique_ptr<TrainingBatch> batch_;
  bool used_ = false;
  StoreCounts counts_;
};

}  // namespace murmurate
